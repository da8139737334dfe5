import { expect } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { decodeEventId } from '../../../src/engine/events/event.ts';
import type { TestApp } from '../app.ts';
import { type Received, type Subscriber, subscribe } from './subscriber.ts';

/** A service whose log has a history. */
export interface Scene {
  /** The service as it runs now: another one after a restart. */
  readonly app: TestApp;
  readonly author: { readonly key: string };
  /** Titles of the posts whose creation was acknowledged, in order. */
  readonly acknowledged: readonly string[];
}

/** Somebody who has listened for a while, and has handled some of what came. */
interface Listener {
  readonly stream: Subscriber;
  /** Titles of what was acknowledged before it came. */
  readonly known: ReadonlySet<string>;
  /** What has come so far. */
  readonly received: Received[];
  /** Settles when its stream has ended. */
  readonly listening: Promise<void>;
  /** How much of it is handled; all of it if undefined. */
  readonly handled: number | undefined;
}

/** The title of the post after which nothing is expected. */
export const LAST = 'the last';

const LOG = statement<{ number: number; title: string }>(
  'test_log',
  `SELECT e.id AS number, p.title FROM events e JOIN posts p ON p.id = e.root_id WHERE e.kind = 'POST_CREATED'
   ORDER BY e.era, e.xid, e.id`,
);

/** The events in the order of the log, with the titles of their posts. */
const logOf = ({ app }: Scene) => app.database.query(LOG, []);

/** Those who listen: each comes at another time, and has handled another part of what came. */
export class Listeners {
  readonly #scene: Scene;
  readonly #all: Listener[] = [];
  /** Of the events after which some came, by number. */
  readonly #titles = new Map<number, string>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  async #join(handled: number | undefined): Promise<void> {
    const { app, author, acknowledged } = this.#scene;
    const known = new Set(acknowledged);
    const stream = await subscribe(app, { key: author.key });
    const received: Received[] = [];
    const listening = (async () => {
      for (;;) {
        const event = await stream.receive();
        if (event.errors !== undefined) return;
        received.push(event);
      }
    })().catch(() => undefined);
    this.#all.push({ stream, known, received, listening, handled });
  }

  /** Some come now. Of these, one handles everything, and stays connected whatever happens. */
  async come(count: number): Promise<void> {
    await this.#join(undefined);
    for (let n = 1; n < count; n += 1) await this.#join(n - 1);
  }

  get count(): number {
    return this.#all.length;
  }

  /** Waits until all have got an event. */
  async have(title: string): Promise<void> {
    for (const { received, known } of this.#all)
      if (!known.has(title))
        await expect.poll(() => received.some((event) => event.title === title)).toBe(true);
  }

  /** All that are to resume leave now. The others stay connected, or are cut off by what happens. */
  async leave(): Promise<void> {
    for (const { number, title } of await logOf(this.#scene)) this.#titles.set(number, title);
    for (const { stream, handled } of this.#all) if (handled !== undefined) await stream.close();
  }

  /** What a listener gets that comes back with the id of the last event that it has handled. */
  async #resumed(id: string): Promise<'expired' | string[]> {
    const { app, author } = this.#scene;
    const stream = await subscribe(app, { key: author.key, header: id });
    const titles: string[] = [];
    try {
      for (;;) {
        const { title, errors } = await stream.receive();
        if (errors !== undefined) {
          expect(errors[0]?.extensions.code).toBe('EVENT_HISTORY_EXPIRED');
          return 'expired';
        }
        titles.push(title ?? '');
        if (title === LAST) return titles;
      }
    } finally {
      await stream.close();
    }
  }

  /**
   * Has everybody come back, and checks what they get: exactly what is in the log and they do not have, or that their
   * history has expired, if and only if the event that they have handled last is not known to the log any more, or
   * retention has dropped one that they do not have. Returns how many were told so. `pruned`: the titles of events that
   * retention has dropped.
   */
  async judge(pruned: readonly string[] = []): Promise<number> {
    const logged = async () => (await logOf(this.#scene)).map(({ title }) => title);
    // Events from another server come first once somebody reads, or the watch has looked.
    await expect.poll(async () => (await logged()).at(-1)).toBe(LAST);
    const log = await logged();
    let told = 0;
    for (const listener of this.#all) {
      const { stream, known, received, handled, listening } = listener;
      if (handled === undefined)
        await Promise.race([listening, expect.poll(() => received.at(-1)?.title).toBe(LAST)]);
      const mine = received.slice(0, handled ?? received.length);
      const titles = mine.map(({ title = '' }) => title);
      expect(titles.filter((title, n) => known.has(title) || titles.indexOf(title) < n)).toEqual([]);
      const has = new Set([...known, ...titles]);
      const lacks = (title: string) => !has.has(title);
      if (titles.at(-1) === LAST) {
        expect(log.filter(lacks)).toEqual([]);
        continue;
      }
      const id = mine.at(-1)?.id ?? stream.startId;
      const at = mine.at(-1)?.title ?? this.#titles.get(decodeEventId(id)?.event.id ?? 0);
      const isLost = at !== undefined && !log.includes(at) && !pruned.includes(at);
      const expected = isLost || pruned.some(lacks) ? 'expired' : log.filter(lacks);
      const got = await this.#resumed(id);
      expect({ at, got }).toEqual({ at, got: expected });
      if (got === 'expired') told += 1;
    }
    return told;
  }
}
