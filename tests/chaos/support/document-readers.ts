import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../../support/random.ts';
import { openEventStream } from '../../support/streams/event-stream.ts';
import { idOf, owed, type Release } from './releases.ts';
import type { Target } from './target.ts';

export interface DocumentReadersOptions {
  readonly targets: readonly Target[];
  readonly releases: readonly Release[];
  readonly key: string;
}

/** At each instance. */
const READERS = 4;
const PAUSE_MS = 2;
/** Of so many requests one is for any document; the others are for those that are just published or retired. */
const ELSEWHERE_EVERY = 3;
/** What an instance answered last before a retirement is asked for first after it. */
const LATELY = 2_000;
const SWEEP = { lately: 200, others: 100 };

/** A subscription by an id, to its end. */
export interface DocumentStream {
  readonly name: string;
  /** What the instance has said last. Undefined while it is open; 'broken' where the instance was killed. */
  ending: string | undefined;
  close(): Promise<void>;
}

/** Asks the instances for documents by their ids all the time, and notes each response that is not owed. */
export class DocumentReaders {
  readonly problems: string[] = [];
  /** How many responses were owed, by what. */
  readonly counts = { published: 0, retired: 0, either: 0, broken: 0 };
  /** The letter of the text that each document was answered with. */
  readonly seen = new Map<number, string>();
  readonly #options: DocumentReadersOptions;
  readonly #lately = new Map<Target, number[]>();
  readonly #random = seededRandom('documents: readers');
  readonly #stopping = Promise.withResolvers<void>();
  #stopped = false;
  readonly #running: Promise<unknown>;

  constructor(options: DocumentReadersOptions) {
    this.#options = options;
    this.#running = Promise.all(
      options.targets.flatMap((target) => Array.from({ length: READERS }, () => this.#readFrom(target))),
    );
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopping.resolve();
    await this.#running;
  }

  /** Asks each instance for many documents of a release, when all of them must know that it was published or retired. */
  async sweep(release: Release): Promise<void> {
    const random = this.#random;
    const sweepOf = async (target: Target) => {
      const lately = (this.#lately.get(target) ?? []).filter((number) => release.has(number)).toReversed();
      const others = Array.from({ length: SWEEP.others }, () => random.pick(release.numbers));
      const left = [...new Set(lately)].slice(0, SWEEP.lately).concat(others).toReversed();
      const next = async () => {
        for (let number = left.pop(); number !== undefined; number = left.pop())
          while (!(await this.#ask(target, number))) await delay(PAUSE_MS);
      };
      await Promise.all(Array.from({ length: READERS }, next));
    };
    await Promise.all(this.#options.targets.map(sweepOf));
  }

  /** Opens a subscription by its id. Undefined where the instance was killed meanwhile. */
  async open(target: Target, id: string): Promise<DocumentStream | undefined> {
    const name = `the stream of ${id} at ${target.name}`;
    const serving = await this.#there(target);
    const killed = () => serving !== target.serving;
    try {
      const response = await this.#post(target, id, 'text/event-stream');
      const stream = openEventStream(response);
      if (response.status !== 200 || (await stream.block())?.id === undefined)
        throw new Error(`${name} is refused with ${response.status}`);
      const opened: DocumentStream = {
        name,
        ending: undefined,
        close: () => stream.close().catch(() => undefined),
      };
      const read = async () => {
        let last = '';
        for (let event = await stream.event(); event !== undefined; event = await stream.event())
          last += `${event.event} ${event.data ?? ''}`;
        opened.ending = killed() ? 'broken' : last;
      };
      read().catch((error: unknown) => {
        opened.ending = killed() ? 'broken' : String(error);
      });
      return opened;
    } catch (error) {
      if (!killed()) this.problems.push(String(error));
      return undefined;
    }
  }

  /** Which of its processes serves, once one does. Undefined where the readers are stopped first. */
  async #there(target: Target): Promise<number | undefined> {
    for (; !this.#stopped; await delay(PAUSE_MS)) {
      await Promise.race([target.up, this.#stopping.promise]);
      if (target.serving !== undefined) return target.serving;
    }
    return undefined;
  }

  #post({ origin }: Target, documentId: string, accept: string): Promise<Response> {
    return fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept, authorization: `Bearer ${this.#options.key}` },
      body: JSON.stringify({ documentId }),
    });
  }

  async #readFrom(target: Target): Promise<void> {
    while (!this.#stopped) {
      await this.#ask(target, this.#any());
      await delay(PAUSE_MS);
    }
  }

  #any(): number {
    const { releases } = this.#options;
    const random = this.#random;
    const changing = releases.filter(({ changes }) => changes);
    const elsewhere = changing.length === 0 || random.below(ELSEWHERE_EVERY) === 0;
    return random.pick(random.pick(elsewhere ? releases : changing).numbers);
  }

  /** Whether there was a response, or none is wanted any more: there is none where the instance is killed. */
  async #ask(target: Target, number: number): Promise<boolean> {
    const serving = await this.#there(target);
    if (serving === undefined) return true;
    const sentMs = performance.now();
    try {
      const response = await this.#post(target, idOf(number), 'application/json');
      this.#judge(target, number, sentMs, response.status, await response.text());
      return true;
    } catch (error) {
      if (serving === target.serving)
        this.problems.push(
          `${target.name} broke off a request: ${error instanceof Error ? error.cause : error}`,
        );
      this.counts.broken += 1;
      return false;
    }
  }

  #judge(target: Target, number: number, sentMs: number, status: number, body: string): void {
    const due = owed(this.#options.releases, number, sentMs);
    this.counts[due] += 1;
    const letter = new RegExp(`^{"data":{"([a-z])${number}":null}}$`).exec(body)?.[1];
    const known = this.seen.get(number) ?? letter;
    const right =
      status === 200
        ? due !== 'retired' && letter !== undefined && letter === known
        : due !== 'published' && status === 404 && body.includes('"DOCUMENT_NOT_FOUND"');
    if (!right) this.problems.push(`${target.name}, ${idOf(number)}, owed ${due}: ${status} ${body}`);
    if (letter === undefined) return;
    this.seen.set(number, letter);
    const lately = this.#lately.get(target) ?? [];
    this.#lately.set(target, lately);
    lately.push(number);
    if (lately.length > 2 * LATELY) lately.splice(0, LATELY);
  }
}
