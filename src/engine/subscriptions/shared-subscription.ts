import { findLogLevel, isOutage } from '../../database/errors.ts';
import type { DecayingUsage } from '../../platform/fairness/fair-queue.ts';
import type { Logger } from '../../platform/log/log.ts';
import {
  advance,
  type ChecksummedPosition,
  type EventFilter,
  encodeEventId,
  isAfter,
  type ReaderPosition,
} from '../events/event.ts';
import { GenerationLostError } from '../events/feed.ts';
import type { EventReaders } from '../operation/lifecycle.ts';
import { type Batch, BatchReader, type BatchReaderOptions } from './batch-reader.ts';
import { toErrorCode } from './event-responses.ts';
import type { TimeSlicedQueue } from './socket-write-queue.ts';
import type { StreamMetrics } from './stream-metrics.ts';
import { Backlogs, backlogOf, Cohort, type Frames, type SubscriberStream } from './subscriber-stream.ts';

const COMPARED = 8;

/**
 * Charges each read of a shared subscription to one of its next few owners, the one with the least recent use. A read
 * that many owners share therefore costs each of them little. Two accounts with the same hundred subscriptions have
 * two shares, not a hundred.
 */
export class SubscriptionOwners {
  readonly #use: DecayingUsage;
  /** The number of streams by owner. A charged owner moves to the end. */
  readonly #streams = new Map<string, number>();

  constructor(use: DecayingUsage) {
    this.#use = use;
  }

  add(owner: string): void {
    this.#streams.set(owner, (this.#streams.get(owner) ?? 0) + 1);
  }

  remove(owner: string): void {
    const left = (this.#streams.get(owner) ?? 0) - 1;
    if (left > 0) this.#streams.set(owner, left);
    else this.#streams.delete(owner);
  }

  next(): string | undefined {
    let next: string | undefined;
    let least = Number.POSITIVE_INFINITY;
    let compared = 0;
    for (const owner of this.#streams.keys()) {
      if (compared >= COMPARED) break;
      compared += 1;
      const weight = this.#use.weightOf(owner);
      if (weight >= least) continue;
      least = weight;
      next = owner;
    }
    const streams = next === undefined ? undefined : this.#streams.get(next);
    if (next !== undefined && streams !== undefined && this.#streams.size > 1) {
      this.#streams.delete(next);
      this.#streams.set(next, streams);
    }
    return next;
  }
}

/**
 * Responses older than this are read again before they are sent, because their rows may have been changed or deleted.
 */
const FRESH_MS = 100;
/** Streams that missed the same events and come within this time read the events together. */
const GATHER_MS = 20;
/** The number of cohorts that replay at a time. Live cohorts do not wait for them. */
const MAX_CATCHING_UP = 2;
const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

export interface SharedSubscriptionOptions extends BatchReaderOptions {
  readonly writeQueue: TimeSlicedQueue;
  readonly metrics: StreamMetrics;
  readonly use: DecayingUsage;
  readonly log: Logger;
}

/**
 * Serves subscribers with equal responses, in cohorts. A cohort reads the next events in one statement and sends one
 * frame in each format. Cohorts at the same position merge. A stream never joins a cohort that is reading or sending,
 * so that the stream gets nothing that was read before it came.
 */
export class SharedSubscription {
  readonly #options: SharedSubscriptionOptions;
  readonly #reader: BatchReader;
  /** Cohorts that streams can join, by the event id of their position. All others are reading or sending. */
  readonly #waiting = new Map<string, Cohort>();
  /** Waiting cohorts that pause until more streams have joined, or after a failure. */
  readonly #resting = new Set<Cohort>();
  /** Waiting cohorts that will replay. */
  readonly #behind = new Set<Cohort>();
  #catchingUp = 0;
  #streams = 0;
  readonly #backlogs = new Backlogs();
  readonly #owners: SubscriptionOwners;
  readonly filter: EventFilter;

  constructor(options: SharedSubscriptionOptions) {
    this.#options = options;
    this.#reader = new BatchReader(options);
    this.#owners = new SubscriptionOwners(options.use);
    this.filter = options.renderer.filter;
  }

  get size(): number {
    return this.#streams;
  }

  get lagging(): number {
    return this.#backlogs.lagging;
  }

  get catchingUp(): number {
    let streams = 0;
    for (const cohort of this.#waiting.values()) if (cohort.catchingUp) streams += cohort.streams.size;
    return streams;
  }

  enter(owner: string): void {
    this.#owners.add(owner);
    this.#streams += 1;
  }

  leave(stream: SubscriberStream, owner: string): void {
    this.#owners.remove(owner);
    this.#streams -= 1;
    this.#backlogs.set(stream, 'none');
    const { cohort } = stream;
    if (cohort === undefined) return;
    cohort.remove(stream);
    if (cohort.streams.size === 0) this.#take(cohort);
  }

  readonly join = (stream: SubscriberStream, from: ReaderPosition): void => {
    const { feed } = this.#options;
    this.#reader.deliveries.joined(stream.liveAfter);
    const atEnd = feed.recent(from, this.filter, 1)?.events.length === 0;
    // Cohorts at the end have had no event since they arrived there, so they can move to this position.
    if (atEnd) this.moveOn(feed.atEnd);
    const readerPosition = atEnd ? feed.atEnd(from) : from;
    const key = encodeEventId(readerPosition);
    let cohort = this.#waiting.get(key);
    if (cohort === undefined) {
      cohort = new Cohort(readerPosition);
      this.#waiting.set(key, cohort);
      cohort.atEnd = atEnd;
      cohort.catchingUp = !atEnd;
      // Other streams that missed the same events may come soon.
      if (cohort.catchingUp) this.#rest(cohort, GATHER_MS);
    }
    cohort.add(stream);
  };

  /** No event up to the new position matches the filter. */
  moveOn(to: (readerPosition: ReaderPosition) => ReaderPosition): void {
    for (const cohort of [...this.#waiting.values()]) {
      const readerPosition = cohort.atEnd ? to(cohort.readerPosition) : cohort.readerPosition;
      if (readerPosition === cohort.readerPosition) continue;
      this.#take(cohort);
      cohort.readerPosition = readerPosition;
      this.#merged(cohort);
    }
  }

  /** No event up to `after` matches the filter. Without `after`, any event may match. */
  wake(after?: ChecksummedPosition): void {
    if (after !== undefined)
      this.moveOn((readerPosition) =>
        isAfter(after, readerPosition) ? advance(readerPosition, after) : readerPosition,
      );
    for (const cohort of [...this.#waiting.values()]) this.#consider(cohort);
  }

  /** `atEnd` is true if the cohort has just found the end of the log. */
  #consider(cohort: Cohort, atEnd = false): void {
    const { feed } = this.#options;
    const recent = feed.recent(cohort.readerPosition, this.filter, 1);
    cohort.atEnd = recent?.events.length === 0;
    // A process that does not follow the log yet has no recent events. It wakes all cohorts once it follows.
    if (cohort.atEnd || (recent === undefined && atEnd && !feed.follows(cohort.readerPosition))) {
      cohort.catchingUp = false;
      return;
    }
    if (this.#resting.has(cohort)) return;
    // Events that are no longer in memory take a separate statement.
    if (recent === undefined) cohort.catchingUp = true;
    if (!cohort.catchingUp) return void this.#read(cohort);
    this.#behind.add(cohort);
    this.#catchUp();
  }

  #rest(cohort: Cohort, forMs: number): void {
    this.#resting.add(cohort);
    setTimeout(() => {
      if (this.#resting.delete(cohort)) this.#consider(cohort);
    }, forMs).unref();
  }

  #catchUp(): void {
    for (const cohort of this.#behind) {
      if (this.#catchingUp >= MAX_CATCHING_UP) return;
      this.#catchingUp += 1;
      void this.#read(cohort).then(() => {
        this.#catchingUp -= 1;
        this.#catchUp();
      });
    }
  }

  #take(cohort: Cohort): void {
    this.#behind.delete(cohort);
    this.#resting.delete(cohort);
    const key = encodeEventId(cohort.readerPosition);
    if (this.#waiting.get(key) === cohort) this.#waiting.delete(key);
  }

  #readersOf({ streams }: Cohort): EventReaders {
    return {
      owner: this.#owners.next(),
      get gone() {
        return streams.size === 0;
      },
    };
  }

  /** Never rejects. */
  async #read(cohort: Cohort): Promise<void> {
    this.#take(cohort);
    try {
      const batch = await this.#reader.next(cohort.readerPosition, this.#readersOf(cohort), cohort.timeouts);
      cohort.failures = 0;
      cohort.timeouts = 0;
      if (batch === undefined) this.#wait(cohort, true);
      else this.#send(cohort, batch).catch((error: unknown) => this.#breakOff(cohort, error, batch));
    } catch (error) {
      if (error instanceof GenerationLostError) this.#breakOff(cohort, error);
      else this.#retry(cohort, error);
    }
  }

  async #send(cohort: Cohort, { readerPosition, events, frames, readAtMs, trace }: Batch): Promise<void> {
    const { writeQueue, metrics } = this.#options;
    const before = cohort.readerPosition;
    cohort.readerPosition = readerPosition;
    cohort.atEnd = false;
    if (frames !== undefined) {
      metrics.batch();
      const streams = [...cohort.streams];
      let written = 0;
      const done = await writeQueue.run(
        streams,
        (slice) => {
          const members = slice.filter((stream) => stream.cohort === cohort);
          for (const stream of members) this.#deliver(stream, frames);
          metrics.sent(events, members);
          written += members.length;
        },
        () => performance.now() - readAtMs < FRESH_MS,
      );
      trace?.end(written);
      if (done < streams.length) this.#split(cohort, streams.slice(done), before);
    }
    this.#wait(cohort);
  }

  /** Reads a batch again for the streams that got nothing of the batch. */
  #split(cohort: Cohort, streams: readonly SubscriberStream[], readerPosition: ReaderPosition): void {
    const rest = new Cohort(readerPosition);
    rest.catchingUp = cohort.catchingUp;
    for (const stream of streams) {
      if (stream.cohort !== cohort) continue;
      cohort.remove(stream);
      rest.add(stream);
    }
    this.#wait(rest);
  }

  /** A stream with a lagging reader leaves its cohort until the reader has caught up. */
  #deliver(stream: SubscriberStream, frames: Frames): void {
    const backlog = backlogOf(stream.deliver(frames.in(stream.format), frames.lastId));
    if (backlog === 'none' || backlog === stream.backlog) return;
    const { cohort } = stream;
    const readerPosition = cohort?.readerPosition;
    if (backlog === 'lagging') cohort?.remove(stream);
    this.#backlogs.set(stream, backlog);
    // Frames are shared, so each further reader for which they wait adds little memory.
    stream.whenDrained({ sharers: this.#backlogs.waiting, limited: backlog === 'lagging' }, () => {
      if (stream.closed) return;
      this.#backlogs.set(stream, 'none');
      if (backlog === 'lagging' && readerPosition !== undefined) this.join(stream, readerPosition);
    });
  }

  #wait(cohort: Cohort, atEnd = false): void {
    if (cohort.streams.size > 0) this.#consider(this.#merged(cohort), atEnd);
  }

  #merged(cohort: Cohort): Cohort {
    const key = encodeEventId(cohort.readerPosition);
    const other = this.#waiting.get(key);
    if (other !== undefined) this.#take(other);
    const [large, small] =
      other !== undefined && other.streams.size > cohort.streams.size ? [other, cohort] : [cohort, other];
    if (small !== undefined) large.absorb(small);
    this.#waiting.set(key, large);
    return large;
  }

  /** Clients reconnect, and get an error if the log does not continue from their position. */
  #breakOff(cohort: Cohort, error: unknown, batch?: Batch): void {
    batch?.trace?.end(0, toErrorCode(error));
    this.#options.log.emit(
      'streams.failed',
      { streams: cohort.streams.size, err: error },
      findLogLevel(error),
    );
    for (const stream of [...cohort.streams]) stream.breakOff();
  }

  #retry(cohort: Cohort, error: unknown): void {
    if (cohort.streams.size === 0) return;
    const pauseMs = Math.min(MAX_PAUSE_MS, MIN_PAUSE_MS * 2 ** cohort.failures);
    const line = { err: error, streams: cohort.streams.size, pauseMs };
    if (cohort.failures === 0 && !isOutage(error)) this.#options.log.emit('events.batch_read_failed', line);
    else this.#options.log.emit('events.batch_retry_failed', line);
    cohort.failures += 1;
    if (toErrorCode(error) === 'TIMEOUT') cohort.timeouts += 1;
    this.#rest(this.#merged(cohort), pauseMs);
  }
}
