import pg from 'pg';
import { expect } from 'vitest';
import { statement } from '../../../src/platform/db/statement.ts';
import { newId } from '../../../src/platform/uuid.ts';
import { agree, withKnown } from '../../model/agree.ts';
import { matchesExecuted } from '../../model/answers.ts';
import { executed, operationIn } from '../../model/execution.ts';
import { type Field, textOf } from '../../model/mutations.ts';
import { type State, stateOf } from '../../model/state.ts';
import { type ChangeRow, readSnapshot } from '../../model/tables.ts';
import type { TestApp } from '../../support/app.ts';
import { postgresOf } from '../../support/database/postgres.ts';
import { send } from '../../support/keyed.ts';
import type { ChangeFilter } from '../../support/streams/changes.ts';
import type { Asked, Command, LateJoin, Mutation } from './commands.ts';
import { type Logged, readLog, type Slot } from './log.ts';
import { type Page, readPage } from './page.ts';
import { Readers, type Source } from './readers.ts';
import type { Stage } from './stage.ts';

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
  readonly #readers: Readers;
  readonly #pages: { readonly page: Page; readonly id: string }[] = [];
  readonly #sources: Source[] = [];
  #held: { readonly client: pg.Client; readonly slot: Slot } | undefined;
  /** The events of earlier worlds. */
  readonly #earlier: number;

  private constructor(stage: Stage, state: State, earlier: number) {
    this.#stage = stage;
    this.#state = state;
    this.#earlier = earlier;
    this.#readers = new Readers(stage.accounts, this.#slots);
  }

  static async begin(stage: Stage): Promise<World> {
    const { app } = stage;
    await app.prisma.post.deleteMany();
    const state = stateOf(await tables(app));
    const world = new World(stage, state, (await readLog(app.database)).length);
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
        return this.#readers.openPosts(pick(this.#stage.instances, command.instance));
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
    await this.#readers.open({ filter: {}, format: 'sse', from: undefined, instance: this.#stage.late });
    for (const { asked, multipart, source } of late) {
      const format = multipart ? 'multipart' : 'sse';
      const from = pick(ids, source);
      await this.#readers.open({ filter: this.#filterOf(asked), format, from, instance: this.#stage.late });
    }
  }

  async #mutate({ account: which, instance, fields }: Mutation): Promise<void> {
    const { instances, accounts } = this.#stage;
    const { caller, key } = pick(accounts, which);
    const before = this.#state;
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
    // Some are named that are gone.
    const posts = [...new Set(before.changes.slice(-8).map(({ postId }) => postId)), ...ids(before.posts)];
    const named = { posts: [...new Set(posts)], comments: ids(before.comments) };
    const known = { ...named, keys: [], sessions: [], password: '' };
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
    return [...this.#sources, ...this.#readers.ids()];
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
    await this.#readers.open({
      filter: this.#filterOf(asked),
      format,
      from,
      instance: pick(this.#stage.instances, instance),
    });
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
    return this.#readers.open({ filter: {}, format: 'sse', from, instance, page });
  }

  /** The events of this world, in order. */
  async #log(): Promise<readonly Logged[]> {
    return (await readLog(this.#stage.app.database)).slice(this.#earlier);
  }

  /** How many readers are not at the end yet. */
  async unfinished(): Promise<number> {
    const all = await readLog(this.#stage.app.database);
    return this.#readers.unfinished(all.slice(this.#earlier), all.at(-1)?.number ?? 0);
  }

  async judge(): Promise<void> {
    const { app, accounts } = this.#stage;
    const agreed = agree(this.#state, await tables(app));
    if ('differs' in agreed) expect.fail(agreed.differs);
    const log = await this.#log();
    // The order of the log is that of transactions, and within one that of its fields.
    expect(log.map(({ change }) => change)).toEqual(this.#slots.flatMap(({ changes }) => changes));
    const posts = new Set(this.#state.posts.map(({ id }) => id));
    const { page } = await readPage(app, pick(accounts, 0).key);
    this.#readers.judge(log, posts, page);
  }

  async close(): Promise<void> {
    await this.#end(false);
    await this.#readers.close();
  }
}

const tables = ({ database }: TestApp) =>
  readSnapshot((text, values) => database.query(statement('test_tables', text), values));
