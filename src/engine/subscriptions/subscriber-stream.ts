import { UNCOUNTED_BYTES } from '../../platform/fairness/response-memory.ts';
import type { LogPosition, ReaderPosition } from '../events/event.ts';
import type { Backlog, EventStream, EventText, Frame, Sink, StreamFormat } from '../events/event-stream.ts';
import type { FeedStart } from '../events/feed.ts';

/** A stream that belongs to at most one cohort at a time. */
interface CohortMember<Stream extends CohortMember<Stream>> {
  cohort: Cohort<Stream> | undefined;
}

/** Streams of a shared subscription at one position of the event log. They get the same events, and in a format the same bytes. */
export class Cohort<Stream extends CohortMember<Stream>> {
  readerPosition: ReaderPosition;
  readonly streams = new Set<Stream>();
  /** True while the cohort replays: it has not reached the end of the log since its first stream came. */
  catchingUp = false;
  /** Whether it waits for events at the end of the log as it is remembered: nothing up to there is for it. */
  atEnd = false;
  /** How often reading its next events has failed in a row, and how often of these it took too long. */
  failures = 0;
  timeouts = 0;

  constructor(readerPosition: ReaderPosition) {
    this.readerPosition = readerPosition;
  }

  add(stream: Stream): void {
    this.streams.add(stream);
    stream.cohort = this;
  }

  remove(stream: Stream): void {
    if (this.streams.delete(stream)) stream.cohort = undefined;
  }

  /** Takes over the streams of another cohort at the same position. Live streams must not wait for a replay. */
  absorb(other: Cohort<Stream>): void {
    for (const stream of other.streams) this.add(stream);
    other.streams.clear();
    this.catchingUp &&= other.catchingUp;
    this.atEnd ||= other.atEnd;
    this.failures = Math.max(this.failures, other.failures);
    this.timeouts = Math.max(this.timeouts, other.timeouts);
  }
}

export interface SubscriberStreamOptions {
  /** Begins to deliver the events after a position. */
  readonly deliver: (stream: SubscriberStream, after: ReaderPosition) => void;
  readonly format: StreamFormat;
  readonly start: FeedStart;
  /** Whether its heartbeats are events. */
  readonly visibleHeartbeats: boolean;
}

/** After this long without an event, a stream gets its position in a block without data. */
const QUIET_MS = 60_000;

/** `finished`: with a last response; `interrupted`: to come back; `failed`: after an error; `client_disconnected`: by the client. */
export type StreamEnding = 'finished' | 'interrupted' | 'failed' | 'client_disconnected';

/**
 * One subscriber's stream. It holds only what differs between the subscribers of a shared subscription, because thousands are open at
 * a time.
 */
export class SubscriberStream implements EventStream, CohortMember<SubscriberStream> {
  format: StreamFormat;
  readonly #deliver: SubscriberStreamOptions['deliver'];
  /** Until it is attached. */
  #start: FeedStart | undefined;
  /** The stream replays the events up to this position. */
  readonly liveAfter: LogPosition;
  #sink: Sink | undefined;
  /** How it ended, if that was before it was attached. */
  #last: Frame | undefined;
  /** The id of the last event that was sent, or of its start. */
  #position: string;
  #onClose: (() => void)[] = [];
  #state: 'open' | 'interrupted' | 'closed' = 'open';
  /** The streams that it moves with; undefined while nothing is delivered to it. */
  cohort: Cohort<SubscriberStream> | undefined;
  /**
   * What waits for its reader: little, enough to count as pending memory, or so much that it gets no more events
   * until the reader has taken all of it in.
   */
  backlog: 'none' | 'counted' | 'lagging' = 'none';
  /** Why it ends: its client or the connection is gone, unless said otherwise. */
  ending: StreamEnding = 'client_disconnected';
  /** When it last got a heartbeat, or its first block. */
  heartbeatAtMs = Number.POSITIVE_INFINITY;
  readonly #visibleHeartbeats: boolean;
  /** Whether its position has moved since the last look, and the time of the last look that found it moved. */
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

  /** Calls back once the stream has closed. */
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

  /** Sends events, the last of which has this id. Returns how many bytes wait for the reader. */
  deliver(frame: Frame, lastId: string): number {
    this.#position = lastId;
    this.#moved = true;
    return this.#sink?.write(frame) ?? 0;
  }

  /** Whether it has had no event for so long that its position should be sent. */
  isQuiet(nowMs: number): boolean {
    if (this.#moved) this.#quietSinceMs = nowMs;
    this.#moved = false;
    return nowMs - this.#quietSinceMs >= QUIET_MS;
  }

  /** Sends a heartbeat, unless the reader lags. `id` is the present position of the stream. */
  beat(nowMs: number, id: () => string): void {
    this.heartbeatAtMs = nowMs;
    if (this.closed || this.backlog === 'lagging') return;
    if (this.#visibleHeartbeats) this.#tell(id(), this.format.visibleHeartbeat);
    else this.#sink?.write(this.format.heartbeat);
  }

  /** Sends the client its present position, if that has changed. */
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

  /** The position that was last sent. */
  get position(): string {
    return this.#position;
  }

  whenDrained(backlog: Backlog, onDrained: () => void): void {
    this.#sink?.whenDrained(backlog, onDrained);
  }

  /** Sends a last response, which belongs to no event, and completes the stream. */
  finish(text: string): void {
    if (this.closed) return;
    this.ending = 'finished';
    this.end(this.format.last(text, this.#position));
  }

  /** Ends the stream with a frame. */
  end(frame: Frame): void {
    if (this.closed) return;
    if (this.#sink === undefined) this.#last = frame;
    else this.#sink.end(frame);
    this.close();
  }

  /** Ends the stream so that the client reconnects, elsewhere or after a restart. It still gets its position. */
  interrupt(): void {
    if (this.closed) return;
    this.ending = 'interrupted';
    if (this.#sink !== undefined) this.end(this.format.interruption);
    else this.#state = 'interrupted';
  }

  /** Breaks the stream off so that the client reconnects. */
  breakOff(): void {
    if (this.closed) return;
    this.ending = 'failed';
    this.#sink?.breakOff();
    this.close();
  }

  close(): void {
    if (this.closed) return;
    this.#state = 'closed';
    for (const callback of this.#onClose.splice(0)) callback();
  }
}

/** A reader with more than this waiting leaves its cohort until it has caught up. */
export const LAGGING_BYTES = 262_144;

type StreamBacklog = SubscriberStream['backlog'];

/** What this many waiting bytes make of a stream. */
export const backlogOf = (waitingBytes: number): StreamBacklog =>
  waitingBytes > LAGGING_BYTES ? 'lagging' : waitingBytes > UNCOUNTED_BYTES ? 'counted' : 'none';

/** Counts the streams of a shared subscription that have pending bytes, and those that have so many that they get no more events. */
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

/** Some events, written once in each format that the streams of a cohort have. */
export class Frames {
  readonly #events: readonly EventText[];
  /** The id of the last event. */
  readonly lastId: string;
  readonly #written = new Map<StreamFormat, Frame>();

  private constructor(events: readonly EventText[], lastId: string) {
    this.#events = events;
    this.lastId = lastId;
  }

  /** Undefined for no events. */
  static of(events: readonly EventText[]): Frames | undefined {
    const last = events.at(-1);
    return last === undefined ? undefined : new Frames(events, last.id);
  }

  in(format: StreamFormat): Frame {
    const known = this.#written.get(format);
    if (known !== undefined) return known;
    const frame = format.events(this.#events);
    this.#written.set(format, frame);
    return frame;
  }
}
