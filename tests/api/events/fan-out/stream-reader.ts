import type { TestApp } from '../../../support/app.ts';
import { type EventStream, openEventStream } from '../../../support/streams/event-stream.ts';
import type { Got, Operation } from './operations.ts';

/** A subscriber that keeps what it gets. */
export class StreamReader {
  readonly got: Got[] = [];
  /** The id of the position at which its stream opened. */
  startId = '';
  /** How its stream ended, if it has. */
  ended: 'complete' | 'broken off' | undefined;
  /** The code of a last event that belongs to no post. */
  refusal: string | undefined;
  readonly #stream: EventStream;
  #going: Promise<void> | undefined;
  #go: (() => void) | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(stream: EventStream) {
    this.#stream = stream;
  }

  static async open(
    { fetch }: Pick<TestApp, 'fetch'>,
    { query, variables }: Operation,
    key: string,
    lastEventId: string | undefined,
  ): Promise<StreamReader> {
    const response = await fetch('/graphql', {
      method: 'POST',
      headers: {
        accept: 'text/event-stream',
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
      body: JSON.stringify({ query, variables }),
    });
    if (response.status !== 200) throw new Error(`not opened: ${response.status} ${await response.text()}`);
    const reader = new StreamReader(openEventStream(response));
    reader.startId = (await reader.#stream.block())?.id ?? '';
    void reader.#run();
    return reader;
  }

  /** Takes nothing in until `resume`. */
  pause(): void {
    this.#going ??= new Promise((resolve) => {
      this.#go = resolve;
    });
  }

  resume(): void {
    this.#go?.();
    this.#going = undefined;
  }

  /** Resolves when it has got this event, or its stream has ended. */
  async until(eventId: (got: Got) => boolean): Promise<void> {
    while (this.ended === undefined && !this.got.some(eventId)) await this.#changed.promise;
  }

  async close(): Promise<void> {
    this.resume();
    await this.#stream.close();
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        await this.#going;
        const block = await this.#stream.event();
        if (block === undefined) break;
        if (block.event === 'complete') this.ended = 'complete';
        else this.#take(block.id, JSON.parse(block.data ?? ''));
        this.#notify();
      }
    } catch {
      // A stream that breaks off rejects.
    }
    this.ended ??= 'broken off';
    this.#notify();
  }

  #take(eventId: string | undefined, { data, errors }: Omit<Got, 'eventId'>): void {
    if (eventId === undefined) this.refusal = errors?.[0]?.extensions.code;
    else this.got.push({ eventId, data, errors });
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
