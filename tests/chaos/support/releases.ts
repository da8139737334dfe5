import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '../../support/processes/process.ts';

/**
 * How long an instance may take to notice what a command has confirmed. Contract section 3 promises one second, which a busy
 * machine exceeds; the next periodic check comes after 30 seconds, so this limit still finds a notification that is lost.
 */
export const NOTICE_LIMIT_MS = 10_000;

export type State = 'published' | 'retired';

export interface ReleaseOptions {
  readonly client: string;
  readonly name: string;
  /** The numbers of its documents. */
  readonly first: number;
  readonly count: number;
  /** What its texts begin with: an id is published with several only to be rejected. */
  readonly letter?: string;
}

const NOBODYS = '00000000-0000-7000-8000-000000000000';

export const idOf = (number: number): string => `doc_${String(number).padStart(5, '0')}`;

/** A release of a client, and what is owed to those who ask for its documents. */
export class Release {
  readonly client: string;
  readonly name: string;
  readonly numbers: readonly number[];
  readonly letter: string;
  /** The ids of two subscriptions: one is its own, the other is that of all releases of its client. */
  readonly streams: { readonly own: string; readonly common: string };
  #state: State | undefined = 'retired';
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor({ client, name, first, count, letter = 'd' }: ReleaseOptions) {
    this.client = client;
    this.name = name;
    this.numbers = Array.from({ length: count }, (_, index) => first + index);
    this.letter = letter;
    this.streams = { own: `stream_${client}_${name}`, common: `stream_${client}` };
  }

  has(number: number): boolean {
    const [first = 0] = this.numbers;
    return number >= first && number < first + this.numbers.length;
  }

  get changes(): boolean {
    return this.#state === undefined;
  }

  /** Runs what publishes or retires it, and may fail to. Meanwhile its documents may be there or not. */
  async change(run: () => Promise<State>): Promise<void> {
    this.#state = undefined;
    const state = await run();
    this.#sinceMs = performance.now();
    this.#state = state;
  }

  /** Whether a request must find it so that was sent at a moment and is answered now. */
  is(state: State, sentMs: number): boolean {
    return this.#state === state && sentMs - this.#sinceMs >= NOTICE_LIMIT_MS;
  }

  /** Where its documents are, as a toolchain writes them. Each response names the text that it is to. */
  async write(): Promise<string> {
    const { letter, streams } = this;
    const texts = new Map(
      this.numbers.map((number) => [
        idOf(number),
        `query Q${number} { ${letter}${number}: post(id: "${NOBODYS}") { id } }`,
      ]),
    );
    for (const id of [streams.own, streams.common])
      texts.set(id, `subscription { ${id}: postCreated { id } }`);
    const file = join(await temporaryFolder(), 'documents.json');
    await writeFile(file, JSON.stringify(Object.fromEntries(texts)));
    return file;
  }
}

/** What a request for a document that was sent at a moment must find, answered now. */
export function owed(releases: readonly Release[], number: number, sentMs: number): State | 'either' {
  const those = releases.filter((release) => release.has(number));
  if (those.some((release) => release.is('published', sentMs))) return 'published';
  return those.every((release) => release.is('retired', sentMs)) ? 'retired' : 'either';
}
