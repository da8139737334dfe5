import { getOrCreate } from '../../platform/cache.ts';
import { UNCOUNTED_BYTES } from '../../platform/fairness/response-memory.ts';
import type { LogPosition, ReaderPosition } from '../events/event.ts';
import type { Backlog, EventStream, EventText, Frame, Sink, StreamFormat } from '../events/event-stream.ts';
import type { FeedStart } from '../events/feed.ts';

/** Streams of a shared subscription at one position get equal events, and equal bytes in each format. */
export class Cohort {
  readerPosition: ReaderPosition;
  readonly streams = new Set<SubscriberStream>();
  /** True until the cohort has reached the end of the log after its first stream came. */
  catchingUp = false;
  /** True if the cohort waits at the end of the events in memory, none of which is for it. */
  atEnd = false;
  /** The number of consecutive failed reads, and of the timeouts among them. */
  failures = 0;
  timeouts = 0;

  constructor(readerPosition: ReaderPosition) {
    this.readerPosition = readerPosition;
  }

  add(stream: SubscriberStream): void {
    this.streams.add(stream);
    stream.cohort = this;
  }

  remove(stream: SubscriberStream): void {
    if (this.streams.delete(stream)) stream.cohort = undefined;
  }

  /** Live streams must not wait for a replay. */
  absorb(other: Cohort): void {
    for (const stream of other.streams) this.add(stream);
    other.streams.clear();
    this.catchingUp &&= other.catchingUp;
    this.atEnd ||= other.atEnd;
    this.failures = Math.max(this.failures, other.failures);
    this.timeouts = Math.max(this.timeouts, other.timeouts);
  }
}

export interface SubscriberStreamOptions {
  readonly deliver: (stream: SubscriberStream, after: ReaderPosition) => void;
  readonly format: StreamFormat;
  readonly start: FeedStart;
  readonly visibleHeartbeats: boolean;
}

/** After this time without an event, a stream gets its position in a block without data. */
const QUIET_MS = 60_000;

/** `finished` has a last response, `interrupted` asks the client to reconnect, and `failed` follows an error. */
export type StreamCloseReason = 'finished' | 'interrupted' | 'failed' | 'client_disconnected';

/**
 * Contains only what differs between the subscribers of a shared subscription, because thousands are open at a time.
 */
export class SubscriberStream implements EventStream {
  format: StreamFormat;
  readonly #deliver: SubscriberStreamOptions['deliver'];
  /** Undefined once the stream is attached. */
  #start: FeedStart | undefined;
  /** The stream replays the events up to this position. */
  readonly liveAfter: LogPosition;
  #sink: Sink | undefined;
  /** The last frame of a stream that ended before it was attached. */
  #last: Frame | undefined;
  #position: string;
  #onClose: (() => void)[] = [];
  #state: 'open' | 'interrupted' | 'closed' = 'open';
  /** Undefined while nothing is delivered to the stream. */
  cohort: Cohort | undefined;
  /**
   * `counted` streams have pending memory. `lagging` streams get no more events until the reader has taken all bytes.
   */
  backlog: 'none' | 'counted' | 'lagging' = 'none';
  closeReason: StreamCloseReason = 'client_disconnected';
  heartbeatAtMs = Number.POSITIVE_INFINITY;
  readonly #visibleHeartbeats: boolean;
  /** `#quietSinceMs` is the time of the last look that found the position moved. */
  #moved = true;
  #quietSinceMs = 0;

  constructor({ deliver, format, start, visibleHeartbeats }: SubscriberStreamOptions) {
    this.#visibleHeartbeats = visibleHeartbeats;
    this.#deliver = deliver;
    this.format = format;
    this.#start = start;
    this.#position = start.eventId;
    this.liveAfter = start.now;
  }

  get headers(): Readonly<Record<string, string>> {
    return this.format.headers(this.#position);
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  onClose(callback: () => void): void {
    this.#onClose.push(callback);
  }

  attach(sink: Sink): void {
    const start = this.#start;
    this.#start = undefined;
    if (start === undefined) throw new Error('a stream is attached once');
    sink.write(this.format.opening(start.eventId));
    if (this.#state === 'closed') {
      sink.end(this.#last ?? this.format.interruption);
      return;
    }
    this.#sink = sink;
    this.heartbeatAtMs = performance.now();
    if (this.#state === 'interrupted') this.end(this.format.interruption);
    else this.#deliver(this, start.readerPosition);
  }

  /** @returns the number of bytes that wait for the reader */
  deliver(frame: Frame, lastId: string): number {
    this.#position = lastId;
    this.#moved = true;
    return this.#sink?.write(frame) ?? 0;
  }

  /** True if the stream has had no event for so long that its position should be sent. */
  isQuiet(nowMs: number): boolean {
    if (this.#moved) this.#quietSinceMs = nowMs;
    this.#moved = false;
    return nowMs - this.#quietSinceMs >= QUIET_MS;
  }

  /** A lagging reader gets no heartbeat. `id` returns the current position. */
  beat(nowMs: number, id: () => string): void {
    this.heartbeatAtMs = nowMs;
    if (this.closed || this.backlog === 'lagging') return;
    if (this.#visibleHeartbeats) this.#tell(id(), this.format.visibleHeartbeat);
    else this.#sink?.write(this.format.heartbeat);
  }

  tellPosition(id: string): void {
    this.#moved = true;
    if (!this.closed && this.backlog !== 'lagging' && id !== this.#position)
      this.#tell(id, this.format.position);
  }

  #tell(id: string, write: (id: string) => Frame | undefined): void {
    const frame = write(id);
    if (frame === undefined) return;
    this.#position = id;
    this.#sink?.write(frame);
  }

  get position(): string {
    return this.#position;
  }

  whenDrained(backlog: Backlog, onDrained: () => void): void {
    this.#sink?.whenDrained(backlog, onDrained);
  }

  /** Sends a last response, which belongs to no event, and completes the stream. */
  finish(text: string): void {
    if (this.closed) return;
    this.closeReason = 'finished';
    this.end(this.format.last(text, this.#position));
  }

  end(frame: Frame): void {
    if (this.closed) return;
    if (this.#sink === undefined) this.#last = frame;
    else this.#sink.end(frame);
    this.close();
  }

  /** Closes the stream with its position, so that the client reconnects to another instance or after a restart. */
  interrupt(): void {
    if (this.closed) return;
    this.closeReason = 'interrupted';
    if (this.#sink !== undefined) this.end(this.format.interruption);
    else this.#state = 'interrupted';
  }

  breakOff(): void {
    if (this.closed) return;
    this.closeReason = 'failed';
    this.#sink?.breakOff();
    this.close();
  }

  close(): void {
    if (this.closed) return;
    this.#state = 'closed';
    for (const callback of this.#onClose.splice(0)) callback();
  }
}

/** A reader for which more bytes wait leaves its cohort until it has caught up. */
export const LAGGING_BYTES = 262_144;

type StreamBacklog = SubscriberStream['backlog'];

export const backlogOf = (waitingBytes: number): StreamBacklog =>
  waitingBytes > LAGGING_BYTES ? 'lagging' : waitingBytes > UNCOUNTED_BYTES ? 'counted' : 'none';

export class Backlogs {
  #waiting = 0;
  #lagging = 0;

  get waiting(): number {
    return this.#waiting;
  }

  get lagging(): number {
    return this.#lagging;
  }

  set(stream: SubscriberStream, backlog: StreamBacklog): void {
    this.#count(stream.backlog, -1);
    this.#count(backlog, 1);
    stream.backlog = backlog;
  }

  #count(backlog: StreamBacklog, by: number): void {
    if (backlog !== 'none') this.#waiting += by;
    if (backlog === 'lagging') this.#lagging += by;
  }
}

/** Writes events once in each format that the streams of a cohort have. */
export class Frames {
  readonly #events: readonly EventText[];
  readonly lastId: string;
  readonly #written = new Map<StreamFormat, Frame>();

  private constructor(events: readonly EventText[], lastId: string) {
    this.#events = events;
    this.lastId = lastId;
  }

  static of(events: readonly EventText[]): Frames | undefined {
    const last = events.at(-1);
    return last === undefined ? undefined : new Frames(events, last.id);
  }

  in(format: StreamFormat): Frame {
    return getOrCreate(this.#written, format, () => format.events(this.#events));
  }
}
