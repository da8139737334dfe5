import type { ExecutionResult } from 'graphql';
import type { EventStream, EventText, Frame, Sink, StreamFormat } from '../../engine/events/event-stream.ts';
import { backlogOf } from '../../engine/subscriptions/subscriber-stream.ts';
import type { Logger } from '../../platform/log/log.ts';

/** Plugins see events. All other frames are written in the format of the stream. */
type Item = { readonly event: EventText } | { readonly write: (format: StreamFormat) => Frame | undefined };

/** The frame is serialized once plugins have seen its events. */
interface ObjectFrame extends Frame {
  readonly items: readonly Item[];
  /** The last response of a stream belongs to no event. */
  readonly lastText?: string;
}

const NO_BYTES = Buffer.alloc(0);
const frameOf = (items: readonly Item[]): ObjectFrame => ({ bytes: NO_BYTES, chunk: NO_BYTES, items });
const written = (write: (format: StreamFormat) => Frame | undefined): ObjectFrame => frameOf([{ write }]);

const OBJECTS: StreamFormat = {
  headers: () => ({}),
  opening: (id) => written((format) => format.opening(id)),
  events: (events) => frameOf(events.map((event) => ({ event }))),
  heartbeat: written((format) => format.heartbeat),
  visibleHeartbeat: (id) => written((format) => format.visibleHeartbeat(id)),
  position: (id) => written((format) => format.position(id)),
  last: (text, id) => ({ ...written((format) => format.last(text, id)), lastText: text }),
  completion: written((format) => format.completion),
  interruption: written((format) => format.interruption),
  whole: (text) => text,
};

const isObjectFrame = (frame: Frame): frame is ObjectFrame => 'items' in frame;

/** A frame from before the first iteration is already in the format of the stream. */
const itemsOf = (frame: Frame): readonly Item[] =>
  isObjectFrame(frame) ? frame.items : [{ write: () => frame }];

const DONE = { done: true, value: undefined } as const;

/**
 * Nothing is attached to the stream until a plugin iterates the results. Without a plugin, the subscriber gets the
 * frames that all subscribers share.
 */
export class EventSource implements AsyncIterableIterator<ExecutionResult> {
  readonly stream: EventStream;
  readonly headers: EventStream['headers'];
  readonly format: StreamFormat;
  /** `lastId` is the id of the event that was taken last. */
  lastId: string;
  /** All frames without events are written to the sink, which is undefined if a plugin carries the stream itself. */
  sink: Sink | undefined;
  sinkBytes = 0;
  readonly #resultOf: (text: string) => ExecutionResult;
  readonly #waiting: Item[] = [];
  #waitingLength = 0;
  #end: Frame | undefined;
  #attached = false;
  #returned = false;
  #wake: (() => void) | undefined;
  #onDrained: (() => void) | undefined;

  constructor(stream: EventStream, resultOf: (text: string) => ExecutionResult) {
    this.stream = stream;
    this.headers = stream.headers;
    this.format = stream.format;
    this.lastId = stream.position;
    this.#resultOf = resultOf;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #attach(): void {
    this.#attached = true;
    this.stream.format = OBJECTS;
    this.stream.attach({
      write: (frame) => {
        for (const item of itemsOf(frame)) {
          this.#waiting.push(item);
          if ('event' in item) this.#waitingLength += item.event.text.length;
        }
        this.#wake?.();
        return this.#waitingLength + this.sinkBytes;
      },
      whenDrained: (_backlog, onDrained) => {
        this.#onDrained = onDrained;
      },
      end: (frame) => this.#finish(frame),
      breakOff: () => {
        this.sink?.breakOff();
        this.#finish(frameOf([]));
      },
    });
    this.stream.onClose(() => this.#finish(frameOf([])));
  }

  #finish(frame: Frame): void {
    this.#end ??= frame;
    this.#wake?.();
  }

  /** A plugin that ends its results first has completed the stream. */
  writeEnd(sink: Sink): void {
    if (this.#returned || this.#end === undefined) {
      sink.end(this.format.completion);
      return;
    }
    for (const item of itemsOf(this.#end)) {
      const frame = 'write' in item ? item.write(this.format) : undefined;
      if (frame !== undefined) sink.end(frame);
    }
  }

  /** Returns the last response once, for a plugin that carries the stream. */
  #takeLast(): ExecutionResult | undefined {
    const end = this.#end;
    if (this.sink !== undefined || end === undefined || !isObjectFrame(end)) return undefined;
    this.#end = frameOf([]);
    return end.lastText === undefined ? undefined : this.#resultOf(end.lastText);
  }

  #drained(): void {
    const onDrained = this.#onDrained;
    this.#onDrained = undefined;
    onDrained?.();
  }

  async next(): Promise<IteratorResult<ExecutionResult>> {
    if (!this.#attached) this.#attach();
    for (;;) {
      const item = this.#waiting.shift();
      if (item === undefined) {
        this.#drained();
        if (this.#waiting.length > 0) continue;
        if (this.#end !== undefined) {
          const last = this.#takeLast();
          return last === undefined ? DONE : { done: false, value: last };
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if ('event' in item) {
        const { id, text } = item.event;
        this.#waitingLength -= text.length;
        this.lastId = id;
        return { done: false, value: this.#resultOf(text) };
      } else {
        const frame = item.write(this.format);
        if (frame !== undefined) this.sink?.write(frame);
      }
    }
  }

  async return(): Promise<IteratorResult<ExecutionResult>> {
    this.#returned = true;
    this.stream.close();
    this.#finish(frameOf([]));
    return DONE;
  }

  /** Carriers such as graphql-sse only end iterators that have all methods of a generator. */
  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }
}

export interface HostedStreamOptions {
  readonly source: EventSource;
  readonly results: AsyncIterable<ExecutionResult>;
  readonly textOf: (result: ExecutionResult) => string;
  readonly log: Logger;
}

/** Each result of a plugin is written for one subscriber, under the id of its event. */
export class HostedStream implements EventStream {
  format: StreamFormat;
  readonly #source: EventSource;
  readonly #results: AsyncIterator<ExecutionResult>;
  readonly #textOf: HostedStreamOptions['textOf'];
  readonly #log: Logger;
  readonly #closed: Promise<void>;
  #isClosed = false;

  constructor({ source, results, textOf, log }: HostedStreamOptions) {
    this.#source = source;
    this.format = source.format;
    this.#results = results[Symbol.asyncIterator]();
    this.#textOf = textOf;
    this.#log = log;
    this.#closed = new Promise((resolve) => source.stream.onClose(resolve));
  }

  get headers(): EventStream['headers'] {
    return this.#source.headers;
  }

  get position(): string {
    return this.#source.lastId;
  }

  onClose(callback: () => void): void {
    this.#source.stream.onClose(callback);
  }

  attach(sink: Sink): void {
    this.#source.sink = sink;
    this.#deliver(sink).catch((error: unknown) => {
      this.#log.emit('plugins.stream_failed', { err: error });
      sink.breakOff();
      this.close();
    });
  }

  async #deliver(sink: Sink): Promise<void> {
    for (let next = await this.#results.next(); !next.done; next = await this.#results.next()) {
      const event = { id: this.#source.lastId, text: this.#textOf(next.value) };
      this.#source.sinkBytes = sink.write(this.format.events([event]));
      const backlog = backlogOf(this.#source.sinkBytes);
      if (backlog === 'none') continue;
      const limited = backlog === 'lagging';
      const drained = new Promise<void>((resolve) => {
        sink.whenDrained({ sharers: 1, limited }, () => {
          this.#source.sinkBytes = 0;
          resolve();
        });
      });
      // Further events wait in the source, so that its group detects that this subscriber lags.
      if (limited) await Promise.race([drained, this.#closed]);
    }
    if (!this.#isClosed) this.#source.writeEnd(sink);
    this.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.stream.close();
    this.#results.return?.().catch((error: unknown) => {
      this.#log.emit('plugins.stream_failed', { err: error });
    });
  }
}
