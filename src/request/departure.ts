import type { ServerResponse } from 'node:http';

/** Tells when a client disconnects. Lighter than an AbortController: thousands of streams have one each. */
export interface Departure {
  readonly left: boolean;
  /** Calls back when the client disconnects. Replaces an earlier callback. */
  onLeave(callback: () => void): void;
}

/** The client of a response disconnects, or has its response. */
export class SocketDeparture implements Departure {
  #callback: (() => void) | undefined;
  left = false;

  constructor(outgoing: ServerResponse) {
    outgoing.once('close', () => {
      this.left = true;
      this.#callback?.();
    });
  }

  onLeave(callback: () => void): void {
    this.#callback = callback;
  }
}

/** The client of a Fetch API request aborts it. */
export function departureOf(signal: AbortSignal): Departure {
  return {
    get left() {
      return signal.aborted;
    },
    onLeave: (callback) => signal.addEventListener('abort', callback, { once: true }),
  };
}
