import { isDeepStrictEqual } from 'node:util';
import { type Random, randomFrom } from '../../support/random.ts';
import type { Selections } from './change-selections.ts';
import type { Ledger, Told } from './ledger.ts';
import { Listener } from './listener.ts';
import { type Data, type Due, pathOf, type Selection } from './selections.ts';
import type { Target } from './target.ts';
import { transportOf } from './transport.ts';
import type { Account } from './verify.ts';
import { waitFor } from './waiting.ts';

export interface CrowdOptions {
  readonly targets: readonly Target[];
  /** A key for each account. */
  readonly keys: readonly string[];
  readonly selections: Selections;
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
  readonly data?: Data | null;
  readonly errors?: readonly unknown[];
}

interface Subscriber {
  readonly selection: Selection;
  readonly listener: Listener;
}

/** Subscribers by the thousand, to a few selections, with the keys of several accounts. */
export class Crowd {
  readonly #options: CrowdOptions;
  readonly #subscribers: Subscriber[] = [];
  /** The different data that came for each selection, with what identifies each: the crowd keeps each once. */
  readonly #texts = new Map<Selection, Map<string, string>>();

  constructor(options: CrowdOptions) {
    this.#options = options;
  }

  add(count: number): void {
    const { keys, selections, tokenPathOf, targets, random } = this.#options;
    for (let added = 0; added < count; added += 1) {
      const index = this.#subscribers.length;
      const transport = transportOf(index);
      // Each transport is used by each account.
      const account = Math.floor(index / 3) % keys.length;
      const isExecuted = index % EXECUTED_EVERY === 0;
      const selection = random.pick(isExecuted ? selections.executed : random.pick(selections.shared));
      const key = keys[account] ?? '';
      const texts = this.#texts.get(selection) ?? new Map<string, string>();
      this.#texts.set(selection, texts);
      this.#subscribers.push({
        selection,
        listener: new Listener({
          name: `subscriber ${index} (${selection.name}, account ${account}, ${transport.name})`,
          transport,
          targets,
          path: transport.byToken ? tokenPathOf(key, selection) : pathOf(selection),
          headers: [
            ...(transport.byToken ? [] : [`authorization: Bearer ${key}`]),
            ...(selection.headers ?? []),
          ],
          random: randomFrom(random.below(2 ** 31)),
          itemIn: (text) => itemIn(selection, texts, text),
        }),
      });
    }
  }

  get figures(): Readonly<Record<string, number>> {
    const sum = (count: (listener: Listener) => number) =>
      this.#subscribers.reduce((total, { listener }) => total + count(listener), 0);
    return {
      subscribers: this.#subscribers.length,
      events: sum(({ items }) => items.length),
      connections: sum(({ connections }) => connections),
      rejected: sum(({ rejected }) => rejected),
    };
  }

  /** Waits until each has an open stream. */
  allConnected(): Promise<void> {
    return this.#all('a stream of', ({ listener }) => listener.at !== undefined);
  }

  /** Waits until each has got the last of these that it has asked for. They are among the newest. */
  allHave(newest: readonly Told[]): Promise<void> {
    const items = new Map<Selection, string | undefined>();
    for (const { selection } of this.#subscribers) {
      const last = newest.findLast((event) => selection.due(event) === 'always');
      items.set(selection, last === undefined ? undefined : selection.itemOf(last));
    }
    return this.#all('the newest change at', ({ selection, listener }) => {
      const item = items.get(selection);
      return item !== undefined && listener.items.slice(-RECENT).includes(item);
    });
  }

  /** Waits until so many have a stream that is open at this instance. */
  connectedTo(target: Target, least: number): Promise<void> {
    return waitFor(() => {
      const count = this.#subscribers.filter(({ listener }) => listener.at === target).length;
      return count < least ? `${least - count} streams at instance ${target.name}` : undefined;
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#subscribers.map(({ listener }) => listener.stop()));
  }

  #all(what: string, has: (subscriber: Subscriber) => boolean): Promise<void> {
    return waitFor(() => {
      const without = this.#subscribers.filter((subscriber) => !has(subscriber));
      if (without.length === 0) return undefined;
      const some = without.slice(0, PRINTED).map(describe).join('; ');
      return `${what} ${without.length} of ${this.#subscribers.length} subscribers, such as ${some}`;
    });
  }

  /** What each has got, in the names of the changes. */
  accounts(ledger: Ledger): Account[] {
    const dues = new Map<Selection, ReadonlyMap<string, Due>>();
    for (const selection of this.#texts.keys())
      dues.set(selection, new Map([...ledger.told].map(([name, event]) => [name, selection.due(event)])));
    return this.#subscribers.map(({ selection, listener }) => ({
      name: listener.name,
      titles: listener.items.map((item) => ledger.find(item)?.name ?? item),
      complaints: listener.complaints,
      connecting: listener.connecting,
      connected: listener.connected,
      due: (name) => dues.get(selection)?.get(name) ?? 'never',
    }));
  }

  /** What arrived and is not what a selection must say of a change. */
  wrongContent(ledger: Ledger): string[] {
    return [...this.#texts].flatMap(([selection, texts]) =>
      [...texts].flatMap(([text, item]) => {
        const event = ledger.find(item);
        const { data }: Response = JSON.parse(text);
        const isRight = event
          ?.states()
          .some((state) => isDeepStrictEqual(data, selection.expected(event, state)));
        if (isRight === true) return [];
        return [`${selection.name}: ${text.slice(0, 300)} instead of ${event?.name ?? 'nothing'}`];
      }),
    );
  }
}

/** What identifies an event, whose data is parsed when it comes for the first time. */
function itemIn(selection: Selection, texts: Map<string, string>, text: string): string | undefined {
  const known = texts.get(text);
  if (known !== undefined) return known;
  const { data, errors }: Response = JSON.parse(text);
  const item = errors === undefined && data != null ? selection.itemIn(data) : undefined;
  if (item !== undefined) texts.set(text, item);
  return item;
}

function describe({ listener: { name, at, items } }: Subscriber): string {
  return `${name}, at ${at?.name ?? 'no instance'}, with ${items.length} events up to ${items.at(-1) ?? 'none'}`;
}
