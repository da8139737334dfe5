import pg from 'pg';
import { expect } from 'vitest';
import { decodeEventId } from '../../../src/events/event-id.ts';
import type { Database } from '../../../src/platform/db/database.ts';
import { statement } from '../../../src/platform/db/statement.ts';
import { newId } from '../../../src/platform/uuid.ts';
import { agree, withKnown } from '../../model/agree.ts';
import { matchesExecuted } from '../../model/answers.ts';
import { executed, operationIn } from '../../model/execution.ts';
import { type Field, textOf } from '../../model/mutations.ts';
import type { Caller } from '../../model/permissions.ts';
import { type State, stateOf } from '../../model/state.ts';
import { type ChangeRow, readSnapshot } from '../../model/tables.ts';
import type { Account, TestApp } from '../../support/app.ts';
import { postgresOf } from '../../support/database/postgres.ts';
import { send } from '../../support/keyed.ts';
import {
  type ChangeFilter,
  type ChangeStream,
  type Format,
  keepChanges,
  letsThrough,
} from '../../support/streams/changes.ts';
import { ACCEPT_MULTIPART } from '../../support/streams/multipart-stream.ts';
import type { Asked, Command, LateJoin, Mutation } from './commands.ts';
import { FOLLOW, type Followed, followed, type Page, pageText, readPage } from './page.ts';

/** What a transaction has changed, in the place of the order that its id gives it. */
interface Slot {
  changes: readonly ChangeRow[];
  committed: boolean;
}

/** A position, and what is not brought from it on although it comes later: it was there before the first reader of it came. */
interface Source {
  readonly id: string;
  readonly excluded: ReadonlySet<Slot>;
}

interface Reader {
  readonly stream: ChangeStream<Followed>;
  readonly filter: ChangeFilter;
  readonly format: Format;
  readonly after: string | undefined;
  readonly excluded: ReadonlySet<Slot>;
  /** The page that it follows. */
  readonly page?: Page;
}

interface Logged {
  readonly number: number;
  readonly change: ChangeRow;
}

const LOG = statement<ChangeRow & { readonly number: number }>(
  'test_all_changes',
  `SELECT id AS number, kind, root_id::text AS "postId", part_id::text AS "commentId", owner_id::text AS "authorId"
   FROM events ORDER BY era, events.xid, id`,
);

export interface Stage {
  readonly app: TestApp;
  /** The first does what is in `between` after each of its statements for an operation. */
  readonly instances: readonly [Pick<TestApp, 'fetch'>, Pick<TestApp, 'fetch'>];
  /** One that begins to follow the log when all has happened. */
  readonly late: Pick<TestApp, 'fetch'>;
  readonly between: Between;
  readonly accounts: readonly (Account & { readonly caller: Caller })[];
}

export interface Between {
  act: (() => Promise<void>) | undefined;
}

/**
 * The same database, where something happens after the next statement of a query, before anybody has its rows. Events are
 * read without taking turns.
 */
export const interruptible = (database: Database, between: Between): Database => ({
  ...database,
  cancellable(cancellation, options) {
    const inner = database.cancellable(cancellation, options);
    return {
      async query(asked, values) {
        const rows = await inner.query(asked, values);
        const { act } = between;
        if (act === undefined || options?.takesTurns === false) return rows;
        between.act = undefined;
        await act();
        return rows;
      },
    };
  },
});

const pick = <T>(from: readonly T[], index: number): T => from[index % from.length] as T;

/** What each account does first. */
const FIRST: readonly (readonly Field[])[] = [
  [{ kind: 'createPost', title: 'T', tags: [], show: 'plain' }],
  [{ kind: 'createComment', post: 0, body: 'B', show: 'plain' }],
];

/** Carries out commands, and knows what each reader must get because of them. */
export class World {
  readonly #stage: Stage;
  #state: State;
  /** In the order of the log. */
  readonly #slots: Slot[] = [];
  readonly #readers: Reader[] = [];
  readonly #posts: {
    readonly stream: ChangeStream<{ readonly id: string }>;
    readonly excluded: ReadonlySet<Slot>;
  }[] = [];
  readonly #pages: { readonly page: Page; readonly id: string }[] = [];
  readonly #sources: Source[] = [];
  #held: { readonly client: pg.Client; readonly slot: Slot } | undefined;
  /** The events of earlier worlds. */
  readonly #earlier: number;

  private constructor(stage: Stage, state: State, earlier: number) {
    this.#stage = stage;
    this.#state = state;
    this.#earlier = earlier;
  }

  static async begin(stage: Stage): Promise<World> {
    const { app } = stage;
    await app.prisma.post.deleteMany();
    const state = stateOf(await tables(app));
    const world = new World(stage, state, (await app.database.query(LOG, [])).length);
    for (const account of stage.accounts.keys())
      for (const fields of FIRST) await world.#mutate({ account, instance: account, fields });
    return world;
  }

  async run(command: Command): Promise<void> {
    switch (command.kind) {
      case 'mutate':
        return this.#mutate(command);
      case 'together':
        return this.#together(command.posts);
      case 'hold':
        return this.#hold(command.writes);
      case 'end':
        return this.#end(command.commits);
      case 'join':
        return this.#join(command);
      case 'join posts':
        return this.#joinPosts(command.instance);
      case 'page':
        return this.#readPage(command);
      case 'breathe':
        for (let turn = 0; turn < 5; turn += 1) await this.#log();
    }
  }

  /** Ends what is held, has the pages followed that are not yet, and adds one that is read now that nothing happens. */
  async settle(late: readonly LateJoin[]): Promise<void> {
    await this.#end(true);
    await this.#readPage({ kind: 'page', cost: false, meanwhile: undefined, followed: 'at the end' });
    for (const { page, id } of this.#pages.splice(0)) await this.#follow(page, id, this.#stage.instances[1]);
    const ids = this.#ids();
    // The first begins at the end.
    await this.#open({ filter: {}, format: 'sse', from: undefined, instance: this.#stage.late });
    for (const { asked, multipart, source } of late) {
      const format = multipart ? 'multipart' : 'sse';
      const from = pick(ids, source);
      await this.#open({ filter: this.#filterOf(asked), format, from, instance: this.#stage.late });
    }
  }

  #committed(): ReadonlySet<Slot> {
    return new Set(this.#slots.filter(({ committed }) => committed));
  }

  async #mutate({ account: which, instance, fields }: Mutation): Promise<void> {
    const { instances, accounts } = this.#stage;
    const { caller, key } = pick(accounts, which);
    const before = this.#state;
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
    // Some are named that are gone.
    const posts = [...new Set(before.changes.slice(-8).map(({ postId }) => postId)), ...ids(before.posts)];
    const known = { posts: [...new Set(posts)], comments: ids(before.comments), keys: [], sessions: [] };
    const query = `mutation { ${fields.map((field, n) => `f${n}: ${textOf(field, known)}`).join(' ')} }`;
    const expected = executed({ ...operationIn(query, {}), caller, state: before });
    const answer = await send(pick(instances, instance), { query, key });
    const made = matchesExecuted(expected, answer);
    if (made === undefined)
      return expect.fail(
        `${query}: ${answer.text} and not ${JSON.stringify(expected.data)} ${JSON.stringify(expected.errors)}`,
      );
    this.#state = withKnown(expected.state, made);
    this.#slots.push({ changes: this.#state.changes.slice(before.changes.length), committed: true });
  }

  async #together(count: number): Promise<void> {
    const { app, instances, accounts } = this.#stage;
    await Promise.all(
      Array.from({ length: count }, (_, n) => {
        const { key } = pick(accounts, n);
        return send(pick(instances, n), {
          query: 'mutation { createPost(title: "T", body: "b") { id } }',
          key,
        });
      }),
    );
    const known = new Set(
      [...this.#state.changes, ...(this.#held?.slot.changes ?? [])].map(({ postId }) => postId),
    );
    const made = (await this.#log()).filter(({ change }) => !known.has(change.postId));
    expect(made.map(({ change }) => change.kind)).toEqual(
      Array.from({ length: count }, () => 'POST_CREATED'),
    );
    await this.#adopt(made.map(({ change }) => change));
    this.#slots.push(...made.map(({ change }) => ({ changes: [change], committed: true })));
    expect(app.config.database.kind).toBe('postgres');
  }

  /** Takes posts into the state that were not made by an operation of it. */
  async #adopt(made: readonly ChangeRow[]): Promise<void> {
    const { posts } = stateOf(await tables(this.#stage.app));
    const ids = new Set(made.map(({ postId }) => postId));
    this.#state = {
      ...this.#state,
      posts: [...this.#state.posts, ...posts.filter(({ id }) => ids.has(id))],
      announced: [...this.#state.announced, ...ids],
      changes: [...this.#state.changes, ...made],
    };
  }

  /** A transaction of another program that stays open holds back what is committed after it began. */
  async #hold(writes: boolean): Promise<void> {
    if (this.#held !== undefined) return;
    const { app, accounts } = this.#stage;
    const client = new pg.Client({ connectionString: postgresOf(app).url });
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
    const slot: Slot = { changes: [], committed: false };
    this.#slots.push(slot);
    this.#held = { client, slot };
    if (!writes) return;
    const { id: authorId } = pick(accounts, 0);
    const postId = newId();
    await client.query("INSERT INTO public.posts (id, title, body, author_id) VALUES ($1, 'held', 'b', $2)", [
      postId,
      authorId,
    ]);
    await client.query(
      "INSERT INTO public.events (kind, root_id, owner_id) VALUES ('POST_CREATED', $1, $2)",
      [postId, authorId],
    );
    slot.changes = [{ kind: 'POST_CREATED', postId, commentId: null, authorId }];
  }

  async #end(commits: boolean): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined) return;
    const { client, slot } = held;
    await client.query(commits ? 'COMMIT' : 'ROLLBACK');
    await client.end();
    if (!commits) slot.changes = [];
    slot.committed = true;
    if (slot.changes.length > 0) await this.#adopt(slot.changes);
  }

  /** All ids that anybody has got by now. */
  #ids(): readonly Source[] {
    const ofStreams = [...this.#readers, ...this.#posts].flatMap(({ stream, excluded }) =>
      [stream.startId, stream.position, ...stream.got.map(({ id }) => id)].map((id) => ({ id, excluded })),
    );
    return [...this.#sources, ...ofStreams];
  }

  #filterOf({ post, author, kinds }: Asked): ChangeFilter {
    const posts = [...new Set(this.#state.changes.slice(-30).map(({ postId }) => postId))];
    return {
      post: post === null || posts.length === 0 ? null : pick(posts, post),
      author: author === null ? null : pick([...this.#stage.accounts.map(({ id }) => id), 'no id'], author),
      kinds,
    };
  }

  async #join({
    asked,
    multipart,
    instance,
    resumes,
    source,
  }: Extract<Command, { kind: 'join' }>): Promise<void> {
    const ids = this.#ids();
    const from = resumes && ids.length > 0 ? pick(ids, source) : undefined;
    const format = multipart ? 'multipart' : 'sse';
    await this.#open({
      filter: this.#filterOf(asked),
      format,
      from,
      instance: pick(this.#stage.instances, instance),
    });
  }

  async #open(opening: {
    readonly filter: ChangeFilter;
    readonly format: Format;
    readonly from: Source | undefined;
    readonly instance: Pick<TestApp, 'fetch'>;
    readonly page?: Page;
  }): Promise<void> {
    const { filter, format, from, instance, page } = opening;
    const excluded = from?.excluded ?? this.#committed();
    const stream = await this.#stream<Followed>({
      query: FOLLOW,
      variables: filter,
      format,
      instance,
      after: from?.id,
    });
    const reader = { stream, filter, format, after: from?.id, excluded };
    this.#readers.push(page === undefined ? reader : { ...reader, page });
  }

  async #stream<Told>(asked: {
    readonly query: string;
    readonly variables?: object;
    readonly format: Format;
    readonly instance: Pick<TestApp, 'fetch'>;
    readonly after?: string | undefined;
  }): Promise<ChangeStream<Told>> {
    const { query, variables = {}, format, instance, after } = asked;
    const { key } = pick(this.#stage.accounts, this.#readers.length);
    const response = await instance.fetch('/graphql?heartbeat=visible', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        accept: format === 'sse' ? 'text/event-stream' : ACCEPT_MULTIPART,
        ...(after === undefined ? {} : { 'last-event-id': after }),
      },
      body: JSON.stringify({ query, variables }),
    });
    return keepChanges<Told>(response, format);
  }

  async #joinPosts(which: number): Promise<void> {
    const excluded = this.#committed();
    const query = 'subscription { postCreated { id } }';
    const instance = pick(this.#stage.instances, which);
    const stream = await this.#stream<{ readonly id: string }>({ query, format: 'sse', instance });
    this.#posts.push({ stream, excluded });
  }

  async #readPage({ cost, meanwhile, followed: when }: Extract<Command, { kind: 'page' }>): Promise<void> {
    const { between, instances, accounts } = this.#stage;
    // The same instance would wait for itself.
    if (meanwhile !== undefined) between.act = () => this.#mutate({ ...meanwhile, instance: 1 });
    const { page, id } = await readPage(
      instances[0],
      pick(accounts, 0).key,
      cost ? { 'x-query-cost': '1' } : {},
    );
    between.act = undefined;
    this.#sources.push({ id, excluded: new Set() });
    if (when === 'at once') await this.#follow(page, id, instances[0]);
    else this.#pages.push({ page, id });
  }

  #follow(page: Page, id: string, instance: Pick<TestApp, 'fetch'>): Promise<void> {
    const from = { id, excluded: new Set<Slot>() };
    return this.#open({ filter: {}, format: 'sse', from, instance, page });
  }

  /** The events of this world, in order. */
  async #log(): Promise<readonly Logged[]> {
    const rows = await this.#stage.app.database.query(LOG, []);
    return rows.slice(this.#earlier).map(({ number, ...change }) => ({ number, change }));
  }

  /** What a reader must have got, by the model. */
  #due({ filter, excluded, after }: Reader, log: readonly Logged[]): readonly ChangeRow[] {
    const start = after === undefined ? -1 : log.findIndex(({ number }) => number === numberOf(after));
    return this.#slots
      .flatMap((slot) => slot.changes.map((change) => ({ slot, change })))
      .filter(
        ({ slot, change }, place) => place > start && !excluded.has(slot) && letsThrough(filter)(change),
      )
      .map(({ change }) => change);
  }

  /** How many readers are not at the end yet. */
  async unfinished(): Promise<number> {
    const rows = await this.#stage.app.database.query(LOG, []);
    const newest = rows.at(-1)?.number ?? 0;
    const log = await this.#log();
    const late = this.#readers.filter((reader) =>
      reader.format === 'sse'
        ? numberOf(reader.stream.position) !== newest
        : reader.stream.got.length < this.#due(reader, log).length,
    );
    const latePosts = this.#posts.filter(({ stream }) => numberOf(stream.position) !== newest);
    return late.length + latePosts.length;
  }

  async judge(): Promise<void> {
    const { app } = this.#stage;
    const agreed = agree(this.#state, await tables(app));
    if ('differs' in agreed) expect.fail(agreed.differs);
    const log = await this.#log();
    // The order of the log is that of transactions, and within one that of its fields.
    expect(log.map(({ change }) => change)).toEqual(this.#slots.flatMap(({ changes }) => changes));
    for (const [n, reader] of this.#readers.entries()) {
      const { stream, filter, format, after } = reader;
      const got = stream.got.map(({ told: { kind, postId, commentId } }) => ({ kind, postId, commentId }));
      const due = this.#due(reader, log).map(({ authorId: _, ...change }) => change);
      expect({ n, filter, format, after, got }).toEqual({ n, filter, format, after, got: due });
    }
    this.#judgePosts();
    const { page: stored } = await readPage(app, pick(this.#stage.accounts, 0).key);
    for (const { page, stream } of this.#readers)
      if (page !== undefined)
        expect(
          pageText(
            followed(
              page,
              stream.got.map(({ told }) => told),
            ),
          ),
        ).toBe(pageText(stored));
  }

  /** `postCreated` shows the posts that were created since, but for those that are gone. */
  #judgePosts(): void {
    const there = new Set(this.#state.posts.map(({ id }) => id));
    for (const { stream, excluded } of this.#posts) {
      const due = this.#slots.flatMap((slot) => (excluded.has(slot) ? [] : slot.changes));
      const created = due.filter(({ kind }) => kind === 'POST_CREATED').map(({ postId }) => postId);
      const got = new Set(stream.got.map(({ told: { id } }) => id));
      expect(stream.got.map(({ told: { id } }) => id)).toEqual(created.filter((id) => got.has(id)));
      expect(created.filter((id) => there.has(id) && !got.has(id))).toEqual([]);
    }
  }

  async close(): Promise<void> {
    await this.#end(false);
    await Promise.all(
      [...this.#readers, ...this.#posts].map(({ stream }) => stream.close().catch(() => undefined)),
    );
  }
}

const tables = ({ database }: TestApp) =>
  readSnapshot((text, values) => database.query(statement('test_tables', text), values));

const numberOf = (id: string): number => decodeEventId(id)?.event.id ?? Number.NaN;
