import type { Span, Tracing } from '../../platform/tracing/tracing.ts';
import {
  advance,
  type ChecksummedPosition,
  encodeEventId,
  isAfter,
  type LogEvent,
  type LogPosition,
  pass,
  type ReaderPosition,
} from '../events/event.ts';
import type { EventText } from '../events/event-stream.ts';
import type { EventFeed } from '../events/feed.ts';
import type { EventReaders } from '../operation/lifecycle.ts';
import { type EventRenderer, mayPass, toErrorCode } from './event-responses.ts';
import { Frames } from './subscriber-stream.ts';

/** A mutation may append thousands of events, and each has a delivery for each shared subscription. */
const MAX_SPANS = 20;

/**
 * Adds a span for each event that a sampled mutation of any instance appended, in the trace of that mutation. A
 * shared subscription has one span for all its streams. Streams that resume or lag have none.
 */
class DeliveryTraces {
  readonly #tracing: Tracing | undefined;
  /** Events up to this position have a span, or were delivered before the shared subscription existed. */
  #tracedTo: LogPosition | undefined;

  constructor(tracing: Tracing | undefined) {
    this.#tracing = tracing;
  }

  /** The new stream replays the events up to this position. */
  joined(liveAfter: LogPosition): void {
    this.#tracedTo ??= liveAfter;
  }

  /** Undefined if none of the events is traced and new. */
  of(events: readonly LogEvent[]) {
    if (this.#tracing === undefined) return undefined;
    const spans = new Map<LogEvent, Span>();
    for (const event of events) {
      const isNew = this.#tracedTo !== undefined && isAfter(event.position, this.#tracedTo);
      if (event.trace === null || !isNew || spans.size === MAX_SPANS) continue;
      const attributes = {
        'messaging.system': 'content_graph',
        'messaging.destination.name': 'events',
        'messaging.operation.name': 'deliver',
        'messaging.operation.type': 'process',
        'messaging.batch.message_count': events.length,
        'content_graph.event.kind': event.kind,
      };
      const span = this.#tracing.follow('process events', event.trace, { kind: 'CONSUMER', attributes });
      if (span !== undefined) spans.set(event, span);
    }
    const [span] = spans.values();
    if (span === undefined) return undefined;
    return {
      /** The parent of the spans for reading the batch. */
      span,
      /** Drops the spans of events whose rows were deleted, or which come with the next batch. */
      keep: (sent: readonly LogEvent[]): void => {
        const left = new Set(sent);
        for (const [event, own] of spans) {
          if (left.has(event)) continue;
          // Spans of statements are children of the first span, so the first span must end.
          if (own === span) own.end({ 'content_graph.streams': 0 });
          spans.delete(event);
        }
      },
      end: (streams: number, error?: string): void => {
        for (const [{ position }, own] of spans) {
          own.end({ 'content_graph.streams': streams }, error);
          if (error === undefined) this.#tracedTo = position;
        }
        spans.clear();
      },
    };
  }
}

export interface Batch {
  readonly readerPosition: ReaderPosition;
  readonly events: readonly LogEvent[];
  /** Undefined if all events were skipped or their rows were deleted. */
  readonly frames: Frames | undefined;
  readonly readAtMs: number;
  readonly trace: ReturnType<DeliveryTraces['of']>;
}

/** A frame of this size gets no more events, so that its readers have little to process at a time. */
const MAX_FRAME_BYTES = 65_536;
/** The maximum number of events that one read examines for a filter. */
const MAX_LOOKS = 10_000;
/** After this number of timeouts, a single event is executed instead. */
const MAX_TIMEOUTS = 3;

export interface BatchReaderOptions {
  readonly renderer: EventRenderer;
  readonly feed: EventFeed;
  readonly tracing: Tracing | undefined;
}

/** Reads about as many events at a time as fit into a frame. */
export class BatchReader {
  readonly #options: BatchReaderOptions;
  readonly deliveries: DeliveryTraces;
  #averageBytes = 1;
  #looks = 0;

  constructor(options: BatchReaderOptions) {
    this.#options = options;
    this.deliveries = new DeliveryTraces(options.tracing);
  }

  /**
   * Reads the next batch, with fewer events after each of `timeouts`. Undefined at the end of the log. Rejects with
   * GenerationLostError, and with transient errors.
   */
  async next(from: ReaderPosition, readers: EventReaders, timeouts: number): Promise<Batch | undefined> {
    const fitting = Math.ceil(MAX_FRAME_BYTES / this.#averageBytes);
    const limit = Math.max(1, Math.min(this.#options.renderer.atMost, fitting) >> timeouts);
    const { renderer, feed } = this.#options;
    this.#looks = Math.max(limit, this.#looks);
    const wanted = { filter: renderer.filter, limit, looks: this.#looks };
    const { events, end } = await feed.read(from, wanted, readers.owner);
    if (!isAfter(end, from)) return undefined;
    // The fewer events match, the more events are examined.
    this.#looks = events.length < limit ? Math.min(this.#looks * 4, MAX_LOOKS) : this.#looks >> 1;
    return this.#batch(from, events, end, { readers, timeouts });
  }

  async #batch(
    from: ReaderPosition,
    events: readonly LogEvent[],
    end: ChecksummedPosition,
    { readers, timeouts }: { readonly readers: EventReaders; readonly timeouts: number },
  ): Promise<Batch> {
    const wanted: { readonly event: LogEvent; readonly readerPosition: ReaderPosition }[] = [];
    let readerPosition = from;
    for (const event of events) {
      const passed = pass(readerPosition, event);
      readerPosition = passed.readerPosition;
      if (!passed.skipped) wanted.push({ event, readerPosition });
    }
    const requested = wanted.map(({ event }) => event);
    const trace = this.deliveries.of(requested);
    readers.span = trace?.span;
    let texts: readonly (string | undefined)[];
    try {
      texts = await this.#read(requested, readers, timeouts);
    } catch (error) {
      trace?.end(0, toErrorCode(error));
      throw error;
    }
    const sent: { readonly event: LogEvent; readonly text: EventText }[] = [];
    let bytes = 0;
    let done = 0;
    for (const { event, readerPosition: after } of wanted.slice(0, texts.length)) {
      if (bytes >= MAX_FRAME_BYTES) break;
      const text = texts[done];
      done += 1;
      if (text === undefined) continue;
      const id = encodeEventId(after);
      sent.push({ event, text: { id, text } });
      bytes += text.length + id.length;
    }
    const delivered = sent.map(({ event }) => event);
    trace?.keep(delivered);
    if (sent.length > 0) this.#averageBytes = Math.max(1, bytes / sent.length);
    return {
      readerPosition:
        done === wanted.length ? advance(readerPosition, end) : (wanted[done - 1]?.readerPosition ?? from),
      events: delivered,
      frames: Frames.of(sent.map(({ text }) => text)),
      readAtMs: performance.now(),
      trace,
    };
  }

  async #read(
    events: readonly LogEvent[],
    readers: EventReaders,
    timeouts: number,
  ): Promise<readonly (string | undefined)[]> {
    const [first] = events;
    if (first === undefined) return [];
    const { renderer } = this.#options;
    try {
      if (events.length > 1 || timeouts < MAX_TIMEOUTS) return await renderer.read(events, readers);
    } catch (error) {
      if (mayPass(toErrorCode(error))) throw error;
    }
    // The statement fails permanently. An execution reports the field that fails, or works without the statement.
    return [await renderer.execute(first, readers)];
  }
}
