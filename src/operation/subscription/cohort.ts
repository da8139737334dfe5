import type { EventPlace } from '../../events/event-place.ts';

/** A stream that belongs to at most one cohort at a time. */
export interface Member<Stream extends Member<Stream>> {
  cohort: Cohort<Stream> | undefined;
}

/** Streams of a group at the same place of the event log. They get the same events, and in a format the same bytes. */
export class Cohort<Stream extends Member<Stream>> {
  place: EventPlace;
  readonly streams = new Set<Stream>();
  /** Whether it reads history: it has not reached the end of the log since its first stream came. */
  catchingUp = false;
  /** Whether it waits for events at the end of the log as it is remembered: nothing up to there is for it. */
  atEnd = false;
  /** How often reading its next events has failed in a row, and how often of these it took too long. */
  failures = 0;
  timeouts = 0;

  constructor(place: EventPlace) {
    this.place = place;
  }

  add(stream: Stream): void {
    this.streams.add(stream);
    stream.cohort = this;
  }

  remove(stream: Stream): void {
    if (this.streams.delete(stream)) stream.cohort = undefined;
  }

  /** Takes over the streams of another cohort at the same place. Live streams must not wait for history. */
  absorb(other: Cohort<Stream>): void {
    for (const stream of other.streams) this.add(stream);
    other.streams.clear();
    this.catchingUp &&= other.catchingUp;
    this.atEnd ||= other.atEnd;
    this.failures = Math.max(this.failures, other.failures);
    this.timeouts = Math.max(this.timeouts, other.timeouts);
  }
}
