import { expect, onTestFinished } from 'vitest';
import type { TestApp } from '../app.ts';
import { dataOf } from '../rejection.ts';
import { openEventStream } from './event-stream.ts';
import { ACCEPT_MULTIPART, openMultipart } from './multipart-stream.ts';
import { requestStream, type SubscribeOptions } from './subscriber.ts';

/** The filters of `changes`. */
export interface ChangeFilter {
  readonly post?: string | null;
  readonly author?: string | null;
  readonly kinds?: readonly string[] | null;
}

/** A change as the test knows it. */
export interface Change {
  readonly kind: string;
  readonly postId: string;
  readonly commentId: string | null;
  /** The author of the post. */
  readonly authorId: string;
}

/** A change as it is delivered. */
export interface ToldChange extends Omit<Change, 'authorId'> {
  readonly at: string;
  readonly post: { readonly id: string; readonly title: string; readonly version: number } | null;
  readonly comment: { readonly id: string; readonly body: string; readonly version: number } | null;
}

/** What an event tells, and its id. */
export interface Arrived<Told = ToldChange> {
  readonly id: string;
  readonly told: Told;
}

export type Format = 'sse' | 'multipart';
export const FORMATS: readonly Format[] = ['sse', 'multipart'];

export const CHANGES = `subscription ($post: ID, $author: ID, $kinds: [ChangeKind!]) {
  changes(post: $post, author: $author, kinds: $kinds) {
    kind at postId commentId post { id title version } comment { id body version } } }`;

/** What the contract says that a filter lets through. */
export const letsThrough =
  ({ post, author, kinds }: ChangeFilter) =>
  ({ kind, postId, authorId }: Change): boolean =>
    (post == null || post.toLowerCase() === postId) &&
    (author == null || author.toLowerCase() === authorId) &&
    (kinds == null || kinds.includes(kind));

/** What of a change the test knows beforehand. */
type Known = Pick<Change, 'kind' | 'postId' | 'commentId'>;
const shown = ({ kind, postId, commentId }: Known): readonly (string | null)[] => [kind, postId, commentId];
export const told = (changes: readonly Known[]) => changes.map(shown);
/** The same of what a stream has got. */
export const toldIn = (got: readonly { readonly told: Known }[]) => got.map((one) => shown(one.told));

/** An open stream, of `changes` unless said otherwise, which keeps what it gets. */
export interface ChangeStream<Told = ToldChange> {
  readonly startId: string;
  readonly got: readonly Arrived<Told>[];
  /** The position that it was told last. */
  readonly position: string;
  /** Resolves once it has got so many changes, with all that it has got. Rejects if it has ended. */
  count(changes: number): Promise<readonly Arrived<Told>[]>;
  /** Resolves once `found` is true, which is tried whenever something has come. */
  until(found: (stream: ChangeStream<Told>) => boolean): Promise<void>;
  close(): Promise<void>;
}

export interface ChangesOptions extends Omit<SubscribeOptions, 'variables' | 'method' | 'accept'> {
  readonly filter?: ChangeFilter;
  readonly format?: Format;
}

/** A block or part of a stream: its position, if it has one, and its data, if it is a response. */
interface Piece {
  readonly id: string | undefined;
  readonly json: { readonly data?: object; readonly errors?: unknown } | undefined;
}

function piecesOf(response: Response, format: Format) {
  if (format === 'multipart') {
    const stream = openMultipart(response);
    return {
      close: stream.close,
      startId: async () => stream.startId,
      async piece(): Promise<Piece | undefined> {
        const json = await stream.payload();
        return json === undefined ? undefined : { id: json.extensions?.eventId, json };
      },
    };
  }
  const stream = openEventStream(response);
  return {
    close: stream.close,
    startId: async () => (await stream.block())?.id ?? '',
    async piece(): Promise<Piece | undefined> {
      const block = await stream.block();
      if (block === undefined || block.event === 'complete') return undefined;
      return { id: block.id, json: block.event === 'next' ? JSON.parse(block.data ?? '') : undefined };
    },
  };
}

/** Keeps what a response brings, until the test has finished. */
export async function keepChanges<Told = ToldChange>(
  response: Response,
  format: Format = 'sse',
): Promise<ChangeStream<Told>> {
  expect(response.status).toBe(200);
  const source = piecesOf(response, format);
  onTestFinished(() => source.close().catch(() => undefined));
  const startId = await source.startId();
  const state = { got: [] as Arrived<Told>[], position: startId, ended: undefined as string | undefined };
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    changed.resolve();
    changed = Promise.withResolvers();
  };
  const stream: ChangeStream<Told> = {
    startId,
    got: state.got,
    get position() {
      return state.position;
    },
    async count(changes) {
      await stream.until(({ got }) => got.length >= changes);
      return state.got;
    },
    async until(found) {
      while (!found(stream)) {
        if (state.ended !== undefined) throw new Error(`the stream has ended: ${state.ended}`);
        await changed.promise;
      }
    },
    close: source.close,
  };
  async function keep(): Promise<string> {
    for (;;) {
      const piece = await source.piece();
      if (piece === undefined) return 'in good order or by its connection';
      const { id, json } = piece;
      if (json !== undefined) {
        if (json.data == null || json.errors !== undefined || id === undefined)
          return `it brought ${JSON.stringify(json)}`;
        const [told] = Object.values(json.data);
        state.got.push({ id, told });
      }
      if (id !== undefined) state.position = id;
      tell();
    }
  }
  void keep()
    .catch(String)
    .then((why) => {
      state.ended = why;
      tell();
    });
  return stream;
}

/** Opens a stream of changes. */
export async function subscribeToChanges(
  app: Pick<TestApp, 'fetch'>,
  { filter = {}, format = 'sse', ...options }: ChangesOptions,
): Promise<ChangeStream> {
  const response = await requestStream(app, {
    query: CHANGES,
    variables: { ...filter },
    ...(format === 'multipart' ? { accept: ACCEPT_MULTIPART } : {}),
    ...options,
  });
  return keepChanges(response, format);
}

/** Somebody who changes content, and writes down what must be told of it. */
export class Writer {
  /** In order. */
  readonly changes: Change[] = [];
  readonly #app: Pick<TestApp, 'gql'>;
  readonly #authors = new Map<string, string>();
  readonly #posts = new Map<string, string>();

  constructor(app: Pick<TestApp, 'gql'>) {
    this.#app = app;
  }

  async #run(key: string, field: string, variables: Record<string, string> = {}) {
    const declared = Object.keys(variables).map((name) => `$${name}: ${name === 'text' ? 'String' : 'ID'}!`);
    const head = declared.length === 0 ? 'mutation' : `mutation (${declared.join(', ')})`;
    return dataOf(await this.#app.gql(`${head} { done: ${field} }`, { key, variables })).done;
  }

  #tell(kind: string, postId: string, commentId: string | null = null): void {
    this.changes.push({ kind, postId, commentId, authorId: this.#authors.get(postId) ?? '' });
  }

  /** Makes a post known that somebody else has created. */
  adopt(post: string, authorId: string): void {
    this.#authors.set(post, authorId);
  }

  async createPost({ id, key }: { readonly id: string; readonly key: string }, text = 'A post') {
    const { id: post } = await this.#run(key, 'createPost(title: $text, body: "b") { id }', { text });
    this.#authors.set(post, id);
    this.#tell('POST_CREATED', post);
    return String(post);
  }

  /** With another title than it has. */
  async updatePost({ key }: { readonly key: string }, post: string, text: string) {
    await this.#run(key, 'updatePost(id: $post, title: $text) { id }', { post, text });
    this.#tell('POST_UPDATED', post);
  }

  async deletePost({ key }: { readonly key: string }, post: string) {
    await this.#run(key, 'deletePost(id: $post)', { post });
    this.#tell('POST_DELETED', post);
  }

  async createComment({ key }: { readonly key: string }, post: string, text = 'A comment') {
    const field = 'createComment(postId: $post, body: $text) { id }';
    const { id } = await this.#run(key, field, { post, text });
    this.#posts.set(id, post);
    this.#tell('COMMENT_CREATED', post, id);
    return String(id);
  }

  /** With another text than it has. */
  async updateComment({ key }: { readonly key: string }, comment: string, text: string) {
    await this.#run(key, 'updateComment(id: $comment, body: $text) { id }', { comment, text });
    this.#tell('COMMENT_UPDATED', this.#posts.get(comment) ?? '', comment);
  }

  async deleteComment({ key }: { readonly key: string }, comment: string) {
    await this.#run(key, 'deleteComment(id: $comment)', { comment });
    this.#tell('COMMENT_DELETED', this.#posts.get(comment) ?? '', comment);
  }
}
