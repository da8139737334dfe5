import { expect } from 'vitest';
import { decodeEventId } from '../../../src/events/event-id.ts';
import type { ChangeRow } from '../../model/tables.ts';
import type { Account, TestApp } from '../../support/app.ts';
import {
  type ChangeFilter,
  type ChangeStream,
  type Format,
  keepChanges,
  letsThrough,
} from '../../support/streams/changes.ts';
import { ACCEPT_MULTIPART } from '../../support/streams/multipart-stream.ts';
import type { Logged, Slot } from './log.ts';
import { FOLLOW, type Followed, followed, type Page, pageText } from './page.ts';

type Instance = Pick<TestApp, 'fetch'>;

/** A position, and what is not brought from it on although it comes later: it was there before the first reader of it came. */
export interface Source {
  readonly id: string;
  readonly excluded: ReadonlySet<Slot>;
}

/** A stream of changes to open. */
interface Opening {
  readonly filter: ChangeFilter;
  readonly format: Format;
  /** Undefined begins at the end. */
  readonly from: Source | undefined;
  readonly instance: Instance;
  /** The page that it follows. */
  readonly page?: Page;
}

interface Reader {
  readonly stream: ChangeStream<Followed>;
  readonly filter: ChangeFilter;
  readonly format: Format;
  readonly after: string | undefined;
  readonly excluded: ReadonlySet<Slot>;
  readonly page: Page | undefined;
}

interface PostReader {
  readonly stream: ChangeStream<{ readonly id: string }>;
  readonly excluded: ReadonlySet<Slot>;
}

interface Asked {
  readonly query: string;
  readonly variables?: object;
  readonly format: Format;
  readonly instance: Instance;
  readonly after?: string | undefined;
}

/** Those who read the changes of a world, and what each must get. */
export class Readers {
  readonly #accounts: readonly Account[];
  /** In the order of the log. */
  readonly #slots: readonly Slot[];
  readonly #readers: Reader[] = [];
  readonly #posts: PostReader[] = [];

  constructor(accounts: readonly Account[], slots: readonly Slot[]) {
    this.#accounts = accounts;
    this.#slots = slots;
  }

  async open({ filter, format, from, instance, page }: Opening): Promise<void> {
    const excluded = from?.excluded ?? this.#committed();
    const asked = { query: FOLLOW, variables: filter, format, instance, after: from?.id };
    const stream = await this.#stream<Followed>(asked);
    this.#readers.push({ stream, filter, format, after: from?.id, excluded, page });
  }

  async openPosts(instance: Instance): Promise<void> {
    const excluded = this.#committed();
    const query = 'subscription { postCreated { id } }';
    this.#posts.push({ stream: await this.#stream({ query, format: 'sse', instance }), excluded });
  }

  /** All ids that any of them has got by now. */
  ids(): readonly Source[] {
    return [...this.#readers, ...this.#posts].flatMap(({ stream, excluded }) =>
      [stream.startId, stream.position, ...stream.got.map(({ id }) => id)].map((id) => ({ id, excluded })),
    );
  }

  /** How many of them are not at the end of the log yet. */
  unfinished(log: readonly Logged[], newest: number): number {
    const isLate = ({ stream }: Reader | PostReader) => numberOf(stream.position) !== newest;
    const late = this.#readers.filter((reader) =>
      reader.format === 'sse' ? isLate(reader) : reader.stream.got.length < this.#due(reader, log).length,
    );
    return late.length + this.#posts.filter(isLate).length;
  }

  /** Fails unless each has got what it must, and each page is as it is stored. */
  judge(log: readonly Logged[], posts: ReadonlySet<string>, stored: Page): void {
    for (const [n, reader] of this.#readers.entries()) {
      const { stream, filter, format, after, page } = reader;
      const told = stream.got.map((one) => one.told);
      const got = told.map(({ kind, postId, commentId }) => ({ kind, postId, commentId }));
      const due = this.#due(reader, log).map(({ authorId: _, ...change }) => change);
      expect({ n, filter, format, after, got }).toEqual({ n, filter, format, after, got: due });
      if (page !== undefined) expect(pageText(followed(page, told))).toBe(pageText(stored));
    }
    for (const { stream, excluded } of this.#posts) {
      // `postCreated` shows the posts that were created since, but for those that are gone.
      const due = this.#slots.flatMap((slot) => (excluded.has(slot) ? [] : slot.changes));
      const created = due.filter(({ kind }) => kind === 'POST_CREATED').map(({ postId }) => postId);
      const got = stream.got.map(({ told: { id } }) => id);
      const known = new Set(got);
      expect(got).toEqual(created.filter((id) => known.has(id)));
      expect(created.filter((id) => posts.has(id) && !known.has(id))).toEqual([]);
    }
  }

  async close(): Promise<void> {
    const streams = [...this.#readers, ...this.#posts].map(({ stream }) => stream);
    await Promise.all(streams.map((stream) => stream.close().catch(() => undefined)));
  }

  #committed(): ReadonlySet<Slot> {
    return new Set(this.#slots.filter(({ committed }) => committed));
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

  async #stream<Told>({
    query,
    variables = {},
    format,
    instance,
    after,
  }: Asked): Promise<ChangeStream<Told>> {
    const key = this.#accounts[this.#readers.length % this.#accounts.length]?.key;
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
}

const numberOf = (id: string): number => decodeEventId(id)?.event.id ?? Number.NaN;
