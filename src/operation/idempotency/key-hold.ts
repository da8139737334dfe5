import type { Database } from '../../platform/db/database.ts';
import type { Logger } from '../../platform/log.ts';
import type { KeyOwner } from './seal.ts';
import { HOLD_KEY, lockName, RELEASE_KEY } from './store.ts';

/** Longer than most mutations take, and well before a wait for a row lock ends the transaction (300 ms). */
const HOLD_AFTER_MS = 50;
const TRIES = 5;

/** Keeps the key of a mutation locked between its transactions. */
export interface KeyHold {
  /** Whether the key is locked. If it cannot be, another request may get it between two transactions. */
  readonly held: boolean;
  /** Call it while a transaction has the key's lock: a long mutation keeps the key from then on. */
  arm(): void;
  /** Releases the key. The caller does not wait for it. */
  end(): void;
}

type Client = Awaited<ReturnType<Database['dedicatedClient']>>;

/** A connection, open while it keeps keys. */
interface Holder {
  readonly client: Promise<Client>;
  /** Settles when the connection is free for the next statement. */
  last: Promise<unknown>;
  keys: number;
  open: boolean;
}

/** A single process needs none: it knows its running mutations. */
const NO_HOLD: KeyHold = { held: false, arm: () => undefined, end: () => undefined };

/**
 * A mutation that waits for a row lock gives up its transaction, and with that the lock of its key. So once it has run
 * for a while, the key is kept by a lock of another session, on one connection of this instance. If that connection
 * breaks, a duplicate at another instance may get its turn; the primary key lets only one of them commit.
 */
export function createKeyHolds(database: Database, log: Logger): (owner: KeyOwner) => KeyHold {
  let current: Holder | undefined;

  /** Closes the connection. Its locks end with it. */
  function close(holder: Holder): void {
    holder.open = false;
    if (current === holder) current = undefined;
    holder.client.then((client) => client.end()).catch(() => undefined);
  }

  function open(): Holder {
    const client = database.dedicatedClient({ limited: true });
    const holder: Holder = { client, last: Promise.resolve(), keys: 0, open: true };
    client.then(
      (opened) => void opened.on('error', () => close(holder)).on('end', () => close(holder)),
      () => undefined,
    );
    return holder;
  }

  /** Runs a statement on a key after those before it. False if the connection is lost. Never rejects. */
  function ask(holder: Holder, sql: string, owner: KeyOwner): Promise<boolean> {
    const answer = holder.last.then(async () => {
      if (!holder.open) return false;
      try {
        const { rows } = await (await holder.client).query<{ done: boolean }>(sql, [lockName(owner)]);
        return rows[0]?.done === true;
      } catch (error) {
        close(holder);
        log.debug({ err: error }, 'a key is not kept while its mutation waits');
        return false;
      }
    });
    holder.last = answer;
    return answer;
  }

  return (owner) => {
    if (database.kind === 'embedded') return NO_HOLD;
    let timer: NodeJS.Timeout | undefined;
    let holder: Holder | undefined;
    let ended = false;

    async function giveUp(given: Holder, locked: boolean): Promise<void> {
      if (locked) await ask(given, RELEASE_KEY, owner);
      given.keys -= 1;
      if (given.keys === 0) close(given);
    }

    async function take(): Promise<void> {
      current ??= open();
      const taking = current;
      taking.keys += 1;
      let locked = false;
      // Whoever looks whether the key is kept has its lock for a moment.
      for (let tries = 0; tries < TRIES && !locked && !ended && taking.open; tries += 1)
        locked = await ask(taking, HOLD_KEY, owner);
      if (locked && !ended) holder = taking;
      else await giveUp(taking, locked);
    }

    return {
      get held() {
        return holder?.open === true;
      },
      arm() {
        if (!ended) timer ??= setTimeout(() => void take(), HOLD_AFTER_MS);
      },
      end() {
        ended = true;
        clearTimeout(timer);
        if (holder !== undefined) void giveUp(holder, true);
        holder = undefined;
      },
    };
  };
}
