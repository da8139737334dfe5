import { UNCOUNTED_BYTES } from '../../request/pending-responses.ts';
import type { SubscriberStream } from './subscriber-stream.ts';

/** A reader with more than this waiting leaves its cohort until it has caught up. */
export const LAGGING_BYTES = 262_144;

type Backlog = SubscriberStream['backlog'];

/** What this many waiting bytes make of a stream. */
export const backlogOf = (waitingBytes: number): Backlog =>
  waitingBytes > LAGGING_BYTES ? 'lagging' : waitingBytes > UNCOUNTED_BYTES ? 'counted' : 'none';

/** How many streams of a group have something waiting for their readers, and how many so much that they get no more. */
export class Backlogs {
  #waiting = 0;
  #lagging = 0;

  get waiting(): number {
    return this.#waiting;
  }

  get lagging(): number {
    return this.#lagging;
  }

  set(stream: SubscriberStream, backlog: Backlog): void {
    this.#count(stream.backlog, -1);
    this.#count(backlog, 1);
    stream.backlog = backlog;
  }

  #count(backlog: Backlog, by: number): void {
    if (backlog !== 'none') this.#waiting += by;
    if (backlog === 'lagging') this.#lagging += by;
  }
}
