import pg from 'pg';
import { expect } from 'vitest';
import { createApiKey } from '../../../../src/auth/api-key/store.ts';
import type { Scope } from '../../../../src/auth/scopes.ts';
import { newId } from '../../../../src/platform/uuid.ts';
import type { Account, TestApp } from '../../../support/app.ts';
import { createComment, createPost } from '../../../support/content.ts';
import { dataOf } from '../../../support/refusal.ts';
import type { Command } from './commands.ts';
import { changesOf, type KnownPost, OPERATIONS, type Operation, type Reader } from './operations.ts';
import type { Disturbance } from './reading-database.ts';
import { StreamReader, type Transport } from './stream-reader.ts';

/** What a subscriber must have been told of a post at least, when it came. */
export type Floor = ReadonlyMap<string, Readonly<Pick<KnownPost, 'version' | 'comments' | 'deleted'>>>;

/** A subscriber, and what was known when it came. */
export interface Subscription {
  readonly stream: StreamReader;
  readonly transport: Transport;
  readonly operation: Operation;
  readonly reader: Credential;
  /** Posts that were committed before it first connected, or that it or the one it goes on for has passed. */
  readonly excluded: ReadonlySet<string>;
  /** It goes on after this event. */
  readonly after: string | undefined;
  readonly floor: Floor;
  left: boolean;
}

interface Credential extends Reader {
  readonly key: string;
  readonly keyId: string;
  revoked: boolean;
}

interface HeldTransaction {
  readonly client: pg.Client;
  readonly post: KnownPost | undefined;
}

export interface Stage {
  readonly app: TestApp;
  readonly instances: readonly Pick<TestApp, 'fetch'>[];
  readonly disturbance: Disturbance;
  readonly authors: readonly (Account & { readonly name: string; readonly role: Reader['role'] })[];
}

const CREDENTIALS: readonly { readonly author: number; readonly scopes: readonly Scope[] }[] = [
  { author: 0, scopes: ['posts:read', 'users:read'] },
  { author: 0, scopes: ['posts:read'] },
  { author: 1, scopes: ['posts:read'] },
  { author: 2, scopes: ['posts:read', 'users:email'] },
  { author: 2, scopes: ['posts:read', 'users:read', 'users:email'] },
];

/** A third of the subscribers is on multipart. */
const transportOf = (index: number): Transport => (index % 3 === 1 ? 'multipart' : 'sse');

const LARGE_BODY = 'b'.repeat(40_000);
const LARGE: Operation = {
  query: 'subscription { postCreated { id title body } }',
  expected: () => ({ body: expect.any(String) }),
};

/** Carries out commands one after another, and notes what each subscriber must get because of them. */
export class World {
  readonly posts: KnownPost[] = [];
  readonly subscriptions: Subscription[] = [];
  readonly #stage: Stage;
  readonly #credentials: Credential[] = [];
  readonly #operations: readonly Operation[];
  #release: (() => void) | undefined;
  #transaction: HeldTransaction | undefined;

  private constructor(stage: Stage) {
    this.#stage = stage;
    this.#operations = [...OPERATIONS, LARGE, ...changesOf(pick(stage.authors, 0).id)];
  }

  static async begin(stage: Stage): Promise<World> {
    const world = new World(stage);
    for (const { author, scopes } of CREDENTIALS) {
      const account = stage.authors[author];
      if (account === undefined) throw new Error('there is no such author');
      const { id: accountId, role } = account;
      const { database } = stage.app;
      const { id: keyId, key } = await createApiKey(database, { userId: accountId, name: 'reader', scopes });
      world.#credentials.push({ accountId, role, scopes, key, keyId, revoked: false });
    }
    return world;
  }

  async run(command: Command): Promise<void> {
    switch (command.kind) {
      case 'create':
        return this.create(command.author, command.count, command.large ? LARGE_BODY : 'b');
      case 'edit':
      case 'delete':
      case 'comment':
        return this.#change(command);
      case 'join':
        return this.#join(command);
      case 'revisit':
        return this.#revisit(command);
      case 'leave':
      case 'pause':
      case 'resume':
        return this.#meddle(command.kind, command.subscriber);
      case 'revoke':
        return this.#revoke(command.reader);
      case 'hold-transaction':
        return this.#holdTransaction(command.writes);
      case 'end-transaction':
        return this.endTransaction();
      case 'fail':
        this.#stage.disturbance.failures = command.statements;
        return;
      case 'hold-reads':
        return this.#holdReads();
      case 'release-reads':
        return this.releaseReads();
      case 'breathe':
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Creates posts, one after another. */
  async create(author: number, count = 1, body = 'b'): Promise<void> {
    const account = pick(this.#stage.authors, author);
    for (let n = 0; n < count; n += 1) {
      const post = this.#newPost(account);
      const title = `${post.number}:0`;
      const id = await createPost(this.#stage.app, account.key, { title, body, tags: [...post.tags] });
      this.posts.push({ ...post, id });
    }
  }

  #newPost({ id: authorId, name: authorName, email: authorEmail }: Stage['authors'][number]): KnownPost {
    const number = this.posts.length;
    const tags = number % 2 === 0 ? ['even', `t${number}`] : [];
    return {
      id: '',
      number,
      authorId,
      authorName,
      authorEmail,
      tags,
      version: 0,
      comments: 0,
      deleted: false,
    };
  }

  async #change({ kind, post: which, late }: Extract<Command, { late: boolean }>): Promise<void> {
    const { app, authors } = this.#stage;
    // Of the latest posts some events are on their way.
    const candidates = late ? this.posts.slice(-2) : this.posts;
    const post = candidates.length === 0 ? undefined : pick(candidates, which);
    const key = authors.find(({ id }) => id === post?.authorId)?.key;
    if (post === undefined || key === undefined || post.deleted) return;
    const { id } = post;
    if (kind === 'comment') {
      await createComment(app, key, id, `comment ${post.comments}`);
      post.comments += 1;
      return;
    }
    if (kind === 'delete') {
      dataOf(await app.gql('mutation ($id: ID!) { deletePost(id: $id) }', { key, variables: { id } }));
      post.deleted = true;
      return;
    }
    const title = `${post.number}:${post.version + 1}`;
    const query = 'mutation ($id: ID!, $title: String!) { updatePost(id: $id, title: $title) { id } }';
    dataOf(await app.gql(query, { key, variables: { id, title } }));
    post.version += 1;
  }

  async #join(command: Extract<Command, { kind: 'join' }>): Promise<void> {
    const reader = pick(this.#credentials, command.reader);
    if (reader.revoked) return;
    const instance = pick(this.#stage.instances, command.instance);
    const other =
      command.resumes && this.subscriptions.length > 0 ? pick(this.subscriptions, command.other) : undefined;
    const operation =
      command.twin && other !== undefined ? other.operation : pick(this.#operations, command.operation);
    const events = [other?.stream.startId ?? '', ...(other?.stream.got.map(({ eventId }) => eventId) ?? [])];
    const after = other === undefined ? undefined : pick(events, command.event);
    const floor = new Map(this.posts.map(({ id, ...known }) => [id, known]));
    const excluded = other?.excluded ?? new Set(floor.keys());
    const transport = transportOf(this.subscriptions.length);
    const stream = await StreamReader.open(instance, operation, reader.key, after, transport);
    this.subscriptions.push({ stream, transport, operation, reader, excluded, after, floor, left: false });
  }

  async #revisit({ post, other, instance }: Extract<Command, { kind: 'revisit' }>): Promise<void> {
    if (this.subscriptions.length === 0) return;
    await this.#change({ kind: 'edit', post, late: true });
    const reader = this.#credentials.indexOf(pick(this.subscriptions, other).reader);
    const start = { resumes: true, other, event: 0, twin: true };
    return this.#join({ kind: 'join', operation: 0, reader, instance, ...start });
  }

  async #meddle(kind: 'leave' | 'pause' | 'resume', which: number): Promise<void> {
    const subscription = this.subscriptions.length === 0 ? undefined : pick(this.subscriptions, which);
    if (subscription === undefined || subscription.left) return;
    if (kind !== 'leave') return subscription.stream[kind]();
    subscription.left = true;
    await subscription.stream.close();
  }

  async #revoke(which: number): Promise<void> {
    const reader = pick(this.#credentials, which);
    reader.revoked = true;
    const { prisma } = this.#stage.app;
    await prisma.apiKey.update({ where: { id: reader.keyId }, data: { revokedAt: new Date() } });
  }

  /** A transaction of another program that stays open holds back what is committed after it began. */
  async #holdTransaction(writes: boolean): Promise<void> {
    const { database } = this.#stage.app.config;
    if (database.kind !== 'postgres' || this.#transaction !== undefined) return;
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    await client.query('BEGIN');
    await client.query('SELECT pg_current_xact_id()');
    this.#transaction = { client, post: undefined };
    if (!writes) return;
    const post = { ...this.#newPost(pick(this.#stage.authors, 0)), id: newId(), tags: [] };
    const title = `${post.number}:0`;
    // Its number is taken, though nobody knows of the post yet.
    this.posts.push({ ...post, id: `reserved ${post.number}`, deleted: true });
    await client.query('INSERT INTO posts (id, title, body, author_id) VALUES ($1, $2, $3, $4)', [
      post.id,
      title,
      'b',
      post.authorId,
    ]);
    await client.query("INSERT INTO events (kind, root_id, owner_id) VALUES ('POST_CREATED', $1, $2)", [
      post.id,
      post.authorId,
    ]);
    this.#transaction = { client, post };
  }

  async endTransaction(): Promise<void> {
    const transaction = this.#transaction;
    this.#transaction = undefined;
    if (transaction === undefined) return;
    await transaction.client.query('COMMIT');
    await transaction.client.end();
    if (transaction.post !== undefined) this.posts.push(transaction.post);
  }

  #holdReads(): void {
    const { disturbance } = this.#stage;
    disturbance.held ??= new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  releaseReads(): void {
    this.#release?.();
    this.#stage.disturbance.held = undefined;
  }
}

function pick<T>(from: readonly T[], index: number): T {
  return from[index % from.length] as T;
}
