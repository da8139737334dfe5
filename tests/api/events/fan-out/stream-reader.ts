import type { TestApp } from '../../../support/app.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { openEventStream } from '../../../support/streams/event-stream.ts';
import { ACCEPT_MULTIPART, openMultipart } from '../../../support/streams/multipart-stream.ts';
import type { Got, Operation } from './operations.ts';

/** A response that came on a stream; `eventId` is undefined if the stream gives it none. */
type Arrival = Omit<Got, 'eventId'> & { readonly eventId: string | undefined };

/** A stream of either transport. */
interface Source {
  readonly startId: string;
  /** The next response, how the stream ended in good order, or undefined where it just ended. */
  next(): Promise<Arrival | 'complete' | undefined>;
  close(): Promise<void>;
}

export type Transport = 'sse' | 'multipart';

/** Reads the opening of an event stream. */
async function sseSource(response: Response): Promise<Source> {
  const stream = openEventStream(response);
  const startId = (await stream.block())?.id ?? '';
  return {
    startId,
    async next() {
      const block = await stream.event();
      if (block === undefined || block.event === 'complete') return block && 'complete';
      const { data, errors } = JSON.parse(block.data ?? '');
      return { eventId: block.id, data, errors };
    },
    close: () => stream.close(),
  };
}

function multipartSource(response: Response): Source {
  const stream = openMultipart(response);
  return {
    startId: stream.startId,
    async next() {
      const payload = await stream.payload();
      if (payload === undefined) return stream.closed ? 'complete' : undefined;
      const { data, errors, extensions } = payload;
      return { eventId: extensions.eventId, data, errors };
    },
    close: () => stream.close(),
  };
}

/** A subscriber that keeps what it gets. */
export class StreamReader {
  readonly got: Got[] = [];
  /** The id of the position at which its stream opened. */
  readonly startId: string;
  /** How its stream ended, if it has. */
  ended: 'complete' | 'broken off' | undefined;
  /** The code of a last response that belongs to no post. */
  refusal: string | undefined;
  /** The position that came with it. */
  refusalId: string | undefined;
  readonly #source: Source;
  #going: Promise<void> | undefined;
  #go: (() => void) | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(source: Source) {
    this.#source = source;
    this.startId = source.startId;
  }

  static async open(
    { fetch }: Pick<TestApp, 'fetch'>,
    { query, variables }: Operation,
    key: string,
    lastEventId: string | undefined,
    transport: Transport,
  ): Promise<StreamReader> {
    const response = await fetch(
      '/graphql',
      graphqlPost(query, {
        key,
        variables,
        headers: {
          accept: transport === 'sse' ? 'text/event-stream' : ACCEPT_MULTIPART,
          ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        },
      }),
    );
    if (response.status !== 200) throw new Error(`not opened: ${response.status} ${await response.text()}`);
    const reader = new StreamReader(
      transport === 'sse' ? await sseSource(response) : multipartSource(response),
    );
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
    await this.#source.close();
  }

  async #run(): Promise<void> {
    try {
      for (;;) {
        await this.#going;
        const arrival = await this.#source.next();
        if (arrival === undefined) break;
        if (arrival === 'complete') {
          this.ended = 'complete';
          break;
        }
        this.#take(arrival);
        this.#notify();
      }
    } catch {
      // A stream that breaks off rejects.
    }
    this.ended ??= 'broken off';
    this.#notify();
  }

  #take({ eventId, data, errors }: Arrival): void {
    const code = errors?.[0]?.extensions.code;
    // Over multipart it comes with the id of the event before it.
    if (code === 'UNAUTHENTICATED') {
      this.refusal = code;
      this.refusalId = eventId;
    } else if (eventId !== undefined) this.got.push({ eventId, data, errors });
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
