import { isDeepStrictEqual } from 'node:util';
import { Listener } from './listener.ts';
import { type Random, randomFrom } from './random.ts';
import { EXECUTED, type ExpectedPost, pathOf, type Selection, SHARED_BY_ALL } from './selections.ts';
import type { Target } from './target.ts';
import { transportOf } from './transport.ts';
import { waitFor } from './waiting.ts';

export interface CrowdOptions {
  readonly targets: readonly Target[];
  /** A key for each account. */
  readonly keys: readonly string[];
  /** The path of the stream token for a key and a selection. */
  readonly tokenPathOf: (key: string, selection: Selection) => string;
  readonly random: Random;
}

/** Of so many subscribers one has its events executed. */
const EXECUTED_EVERY = 40;
const PRINTED = 5;
/** What has come twice or out of order is not waited for in vain: it is told in the end. */
const RECENT = 100;

interface Response {
  readonly data?: { readonly postCreated?: { readonly title?: string } | null } | null;
  readonly errors?: readonly unknown[];
}

/** Subscribers by the thousand, to a few selections, with the keys of several accounts. */
export class Crowd {
  readonly #options: CrowdOptions;
  readonly listeners: Listener[] = [];
  /** The different data that came for each selection, with the title that each has: the crowd keeps each once. */
  readonly #texts = new Map<Selection, Map<string, string>>();

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  add(count: number): void {
    const { keys, tokenPathOf, targets, random } = this.#options;
    for (let added = 0; added < count; added += 1) {
      const index = this.listeners.length;
      const transport = transportOf(index);
      // Each transport is used by each account.
      const account = Math.floor(index / 3) % keys.length;
      const selection = index % EXECUTED_EVERY === 0 ? EXECUTED : random.pick(SHARED_BY_ALL);
      const key = keys[account] ?? '';
      const texts = this.#texts.get(selection) ?? new Map<string, string>();
      this.#texts.set(selection, texts);
      this.listeners.push(
        new Listener({
          name: `subscriber ${index} (${selection.name}, account ${account}, ${transport.name})`,
          transport,
          targets,
          path: transport.byToken ? tokenPathOf(key, selection) : pathOf(selection),
          headers: [
            ...(transport.byToken ? [] : [`authorization: Bearer ${key}`]),
            ...(selection.headers ?? []),
          ],
          random: randomFrom(random.below(2 ** 31)),
          titleOf: (text) => titleIn(texts, text),
        }),
      );
    }
  }

  get figures(): Readonly<Record<string, number>> {
    const sum = (count: (listener: Listener) => number) =>
      this.listeners.reduce((total, listener) => total + count(listener), 0);
    return {
      subscribers: this.listeners.length,
      events: sum(({ titles }) => titles.length),
      connections: sum(({ connections }) => connections),
      refused: sum(({ refused }) => refused),
    };
  }

  /** Waits until each has an open stream. */
  allConnected(): Promise<void> {
    return this.#all('a stream of', ({ at }) => at !== undefined);
  }

  /** Waits until each has got this post, one of the newest. */
  allHave(title: string): Promise<void> {
    return this.#all(`${title} at`, ({ titles }) => titles.slice(-RECENT).includes(title));
  }

  /** Waits until so many have a stream that is open at this instance. */
  connectedTo(target: Target, least: number): Promise<void> {
    return waitFor(() => {
      const count = this.listeners.filter(({ at }) => at === target).length;
      return count < least ? `${least - count} streams at instance ${target.name}` : undefined;
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.listeners.map((listener) => listener.stop()));
  }

  #all(what: string, has: (listener: Listener) => boolean): Promise<void> {
    return waitFor(() => {
      const without = this.listeners.filter((listener) => !has(listener));
      if (without.length === 0) return undefined;
      const some = without.slice(0, PRINTED).map(describe).join('; ');
      return `${what} ${without.length} of ${this.listeners.length} subscribers, such as ${some}`;
    });
  }

  /** What arrived and is not what a selection must say of a post. */
  wrongContent(posts: ReadonlyMap<string, ExpectedPost>): string[] {
    return [...this.#texts].flatMap(([selection, texts]) =>
      [...texts].flatMap(([text, title = '']) => {
        const post = posts.get(title);
        const { data }: Response = JSON.parse(text);
        if (post !== undefined && isDeepStrictEqual(data?.postCreated, selection.expected(post))) return [];
        return [`${selection.name}: ${text.slice(0, 300)} instead of ${title}`];
      }),
    );
  }
}

/** The title of a post in a response, which is parsed when it comes for the first time. */
function titleIn(texts: Map<string, string>, text: string): string | undefined {
  const known = texts.get(text);
  if (known !== undefined) return known;
  const { data, errors }: Response = JSON.parse(text);
  const title = errors === undefined ? data?.postCreated?.title : undefined;
  if (title !== undefined) texts.set(text, title);
  return title;
}

function describe({ name, at, titles }: Listener): string {
  return `${name}, at ${at?.name ?? 'no instance'}, with ${titles.length} posts up to ${titles.at(-1) ?? 'none'}`;
}
