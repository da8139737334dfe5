import { performance } from 'node:perf_hooks';
import type { Cancellation } from './cancellation.ts';
import { DatabaseError } from './errors.ts';
import type { RecentUse, Waiting } from './recent-use.ts';

/** A place among those who may have a connection. */
export interface Place {
  readonly owner: string | undefined;
  /** When it was taken, by `waitedMs`. */
  readonly sinceMs: number;
}

/**
 * How long this process has done nothing but wait. What it does meanwhile for others must not count for whoever has a
 * connection: in a busy process a thousandth of a second in the database takes half a second to be noticed.
 */
const waitedMs = () => performance.nodeTiming.idleTime;
/** What this process does with a byte from the database takes about so long: 3 ms a megabyte. */
const MS_A_BYTE = 3 / 1_048_576;

/** A place that was waited for, with the connection of whoever had it before. */
export interface Turn<Connection> {
  readonly place: Place;
  /** Undefined where it broke, or was never opened. */
  readonly connection: Connection | undefined;
}

interface InLine<Connection> extends Waiting {
  readonly goIn: (turn: Turn<Connection>) => void;
  readonly refuse: (error: DatabaseError) => void;
}

/**
 * The line for the connections of a pool. A pool's own line serves in the order of arrival, and gives up after the time
 * that a connection may take to open: behind the heavy reads of many accounts, a cheap one of another would be refused.
 * Here whoever has used connections least of late goes first, and waits as long as the operation may take.
 */
export class ConnectionLine<Connection> {
  readonly #use: RecentUse;
  readonly #line: InLine<Connection>[] = [];
  #free: number;

  constructor(connections: number, use: RecentUse) {
    this.#free = connections;
    this.#use = use;
  }

  /** A place where there is one at once. */
  enter(owner: string | undefined): Place | undefined {
    if (this.#free === 0) return undefined;
    this.#free -= 1;
    return { owner, sinceMs: waitedMs() };
  }

  /** Waits for a place. Throws DatabaseError: `timeout` where the work is called off, or what `refuseAll` was given. */
  wait(cancellation: Cancellation | undefined): Promise<Turn<Connection>> {
    return new Promise((resolve, reject) => {
      const calledOff = cancellation?.onCancel(() => {
        this.#line.splice(this.#line.indexOf(entry), 1);
        reject(new DatabaseError('timeout', new Error('called off while it waited for a connection')));
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
   * Gives a place back, straight to the next in line, and a connection with it: to go through the pool costs a turn of
   * the event loop and two timers. `bytes` came over it meanwhile. Returns whether somebody has taken them.
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

  /** Sends all away who wait: there is no server to connect to. */
  refuseAll(error: DatabaseError): void {
    for (const { refuse } of this.#line.splice(0)) refuse(error);
  }
}
