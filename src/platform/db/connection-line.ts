import { performance } from 'node:perf_hooks';
import type { Cancellation } from './cancellation.ts';
import { DatabaseError } from './errors.ts';
import type { RecentUse, Waiting } from './recent-use.ts';

/** The right to use one connection. */
export interface Place {
  readonly owner: string | undefined;
  /** The value of `waitedMs` when the place was taken. */
  readonly sinceMs: number;
}

/**
 * The idle time of the event loop. Usage is measured in it so that an owner is not charged for other work of
 * this process: in a busy process, a result that took 1 ms in the database may be noticed half a second
 * later.
 */
const waitedMs = () => performance.nodeTiming.idleTime;
/** Processing the database's data costs this process about 3 ms per MiB. */
const MS_A_BYTE = 3 / 1_048_576;

/** A place obtained by waiting, with the connection of its previous holder. */
export interface Turn<Connection> {
  readonly place: Place;
  /** Undefined if it broke or was never opened. */
  readonly connection: Connection | undefined;
}

interface InLine<Connection> extends Waiting {
  readonly goIn: (turn: Turn<Connection>) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/**
 * The queue for a pool's connections. pg's own queue is first-in, first-out and times out after the connect
 * timeout, so a cheap read behind many accounts' heavy reads would be refused. Here the owner with the least
 * recent usage goes first, and may wait as long as its operation may take.
 */
export class ConnectionLine<Connection> {
  readonly #use: RecentUse;
  readonly #line: InLine<Connection>[] = [];
  #free: number;

  constructor(connections: number, use: RecentUse) {
    this.#free = connections;
    this.#use = use;
  }

  get waiting(): number {
    return this.#line.length;
  }

  /** Takes a place if one is free; never waits. */
  enter(owner: string | undefined): Place | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return { owner, sinceMs: waitedMs() };
  }

  /**
   * Waits for a place. Throws DatabaseError: `timeout` on cancellation, or the error given to `refuseAll`.
   */
  wait(cancellation: Cancellation | undefined): Promise<Turn<Connection>> {
    return new Promise((resolve, reject) => {
      const calledOff = cancellation?.onCancel(() => {
        this.#line.splice(this.#line.indexOf(entry), 1);
        reject(new DatabaseError('timeout', new Error('cancelled while waiting for a connection')));
      });
      const entry: InLine<Connection> = {
        owner: cancellation?.owner,
        goIn(turn) {
          calledOff?.();
          resolve(turn);
        },
        refuse(error) {
          calledOff?.();
          reject(error);
        },
      };
      this.#line.push(entry);
    });
  }

  /**
   * Returns a place and hands it, with its connection, to the next in the queue: going through the pool costs
   * a turn of the event loop and two timers. `bytes` is what the holder received. Returns whether somebody
   * took the place.
   */
  leave({ owner, sinceMs }: Place, bytes: number, connection?: Connection): boolean {
    const nowMs = waitedMs();
    if (owner !== undefined) this.#use.add(owner, nowMs - sinceMs + bytes * MS_A_BYTE);
    const next = this.#use.takeNext(this.#line);
    if (next === undefined) {
      this.#free += 1;
      return false;
    }
    next.goIn({ place: { owner: next.owner, sinceMs: nowMs }, connection });
    return true;
  }

  /** Rejects everyone in the queue, because the server cannot be reached. */
  refuseAll(error: DatabaseError): void {
    for (const { refuse } of this.#line.splice(0)) refuse(error);
  }
}
