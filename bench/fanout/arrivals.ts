import { quantile } from '../harness/load.ts';
import type { Lags, Received } from './messages.ts';

/** When each of some events arrived at each of some subscribers. */
export class Arrivals {
  readonly #events: number;
  readonly #subscribers: number;
  /** By event and subscriber, in the machine's time. */
  readonly #times: Float64Array;
  /** How many each subscriber has received. */
  readonly #counts: Uint32Array;
  #left: number;
  #lastMs = 0;
  #bytes = 0;

  constructor(events: number, subscribers: number) {
    this.#events = events;
    this.#subscribers = subscribers;
    this.#times = new Float64Array(events * subscribers);
    this.#counts = new Uint32Array(subscribers);
    this.#left = events * subscribers;
  }

  get complete(): boolean {
    return this.#left === 0;
  }

  /** Throws where a subscriber gets more than there is: events are delivered once. */
  note(subscriber: number, events: number, bytes: number, atMs: number): void {
    this.#bytes += bytes;
    if (events === 0) return;
    const received = this.#counts[subscriber] ?? 0;
    if (received + events > this.#events)
      throw new Error(
        `subscriber ${subscriber} received event ${received + events}, and there are only ${this.#events}`,
      );
    for (let event = received; event < received + events; event += 1)
      this.#times[event * this.#subscribers + subscriber] = atMs;
    this.#counts[subscriber] = received + events;
    this.#left -= events;
    this.#lastMs = atMs;
  }

  received(): Received {
    return { kind: 'received', lastMs: this.#lastMs, bytes: this.#bytes };
  }

  /** What has not arrived, in words. */
  missing(): string {
    const lacking = [...this.#counts.entries()].filter(([, count]) => count < this.#events);
    const [subscriber, count] = lacking[0] ?? [0, 0];
    return `${this.#left} of ${this.#events * this.#subscribers} deliveries are missing, of ${lacking.length} subscribers; subscriber ${subscriber} has ${count} of ${this.#events} events`;
  }

  /** How long after an event was known each subscriber had it. */
  lags(knownMs: readonly number[]): Lags {
    const sorted = this.#times
      .map((time, index) => time - (knownMs[Math.floor(index / this.#subscribers)] ?? Number.NaN))
      .sort();
    return {
      kind: 'lags',
      p50Ms: quantile(sorted, 0.5),
      p99Ms: quantile(sorted, 0.99),
      longestMs: quantile(sorted, 1),
    };
  }
}
