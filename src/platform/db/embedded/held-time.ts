/** Who has the backend: nobody, the service, an admin command, a guest. */
export type Standing = 'service' | 'command' | 'guest';

/** The application_name of an admin command beside a server. */
export const COMMAND = 'content-graph-admin';

/** How long an outside connection may have the backend: for a statement or a transaction, and idle in one. */
export interface HoldLimit {
  readonly totalMs: number;
  readonly idleMs: number;
}

/** Requests wait meanwhile, so a guest's statement ends before a request's time is up. A command does one thing and ends. */
export const HOLD_LIMITS: Readonly<Record<Exclude<Standing, 'service'>, HoldLimit>> = {
  guest: { totalMs: 5_000, idleMs: 2_000 },
  command: { totalMs: 30_000, idleMs: 10_000 },
};

const STANDINGS: readonly (Standing | undefined)[] = [undefined, 'service', 'command', 'guest'];

/**
 * Tells the thread of the service who has the backend, while a statement keeps the worker's thread busy. Each hold has a
 * number of its own.
 */
export class HoldMark {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: Int32Array;

  constructor(buffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)) {
    this.buffer = buffer;
    this.#cells = new Int32Array(buffer);
  }

  begin(standing: Standing): void {
    Atomics.add(this.#cells, 1, 1);
    Atomics.store(this.#cells, 0, STANDINGS.indexOf(standing));
  }

  end(): void {
    Atomics.store(this.#cells, 0, 0);
  }

  read(): { readonly standing: Standing | undefined; readonly number: number } {
    return { standing: STANDINGS[Atomics.load(this.#cells, 0)], number: Atomics.load(this.#cells, 1) };
  }
}

const LOOK_MS = 200;
/** The worker ends a transaction between its statements by itself. */
const GRACE_MS = 500;

/** How long outside connections have had the backend. */
export interface HoldWatch {
  /** In all, since the start. */
  heldMs(): number;
  /** Looks only while there are outside connections. */
  guests(count: number): void;
  close(): void;
}

/** Calls `exceeded` once for each hold that has passed its limit: its statement can only be ended with the worker. */
export function watchHolds(mark: HoldMark, exceeded: (limit: HoldLimit) => void): HoldWatch {
  let heldMs = 0;
  let lookedMs = 0;
  let current: { readonly number: number; sinceMs: number; told: boolean } | undefined;
  let timer: NodeJS.Timeout | undefined;

  function look(): void {
    const nowMs = performance.now();
    const { standing, number } = mark.read();
    if (standing === undefined || standing === 'service') {
      current = undefined;
      return;
    }
    if (current?.number === number) heldMs += nowMs - lookedMs;
    else current = { number, sinceMs: nowMs, told: false };
    lookedMs = nowMs;
    const limit = HOLD_LIMITS[standing];
    if (current.told || nowMs - current.sinceMs < limit.totalMs + GRACE_MS) return;
    current.told = true;
    exceeded(limit);
  }

  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  return {
    heldMs() {
      if (timer !== undefined) look();
      return heldMs;
    },
    guests(count) {
      if (count > 0) timer ??= setInterval(look, LOOK_MS).unref();
      else stop();
    },
    close: stop,
  };
}
