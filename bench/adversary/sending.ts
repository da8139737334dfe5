import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { postRequest } from '../harness/connection.ts';
import type { Attacker } from './accounts.ts';
import { ask, cookieOf, type ResponseData, requestOf, type Way, Wire } from './wire.ts';

/** Where a move goes, until when, and who makes it. */
export interface Target extends Way {
  readonly attacker: Attacker;
  /** The address of somebody without credentials. */
  readonly stranger: string;
  readonly signal: AbortSignal;
  /** Counts what came of a request: a status, or why there was none. */
  readonly note: (what: string) => void;
}

/** One thing that an attacker does again and again, within its limits. Resolves once it was told to stop. */
export type Move = (target: Target) => Promise<void>;

/** The rates of a client or an address, and of an account with four keys. */
export const CLIENT = 20;
export const ACCOUNT = 80;
/** What a bucket holds, in seconds of its rate. */
const BURST_SECONDS = 5;
const MOST_CONNECTIONS = 200;
/** The service's own origin, which its pages send along with their cookie. */
export const ORIGIN = 'https://bench.example';

export const repeat = (count: number, part: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => part(index)).join(' ');

export const bearer = (key: string | undefined) => ({ authorization: `Bearer ${key ?? ''}` });

/** Notes what became of a request once the move is still on: what it breaks off itself is nobody's answer. */
const noteWhile = ({ signal, note }: Target, what: string) => {
  if (!signal.aborted) note(what);
};

/** One request, noted. */
export async function asked(target: Target, request: Buffer): Promise<ResponseData> {
  try {
    const response = await ask(target, request);
    noteWhile(target, String(response.status));
    return response;
  } catch (error) {
    noteWhile(target, (error as Error).message);
    throw error;
  }
}

/** Sends so many requests a second, whether those before are answered or not, what the bucket holds first. */
export async function steadily(
  target: Target,
  perSecond: number,
  make: (n: number) => Buffer,
  burst = perSecond * BURST_SECONDS,
): Promise<void> {
  const { signal } = target;
  const idle: Wire[] = [];
  const open = new Set<Wire>();
  const beganMs = performance.now();
  for (let sent = 0; !signal.aborted; ) {
    const due = burst + ((performance.now() - beganMs) / 1_000) * perSecond;
    for (; sent < due && !signal.aborted; sent += 1) {
      let wire = idle.pop();
      while (wire !== undefined && !wire.isOpen) wire = idle.pop();
      if (wire === undefined) {
        for (const other of open) if (!other.isOpen) open.delete(other);
        if (open.size >= MOST_CONNECTIONS) break;
        wire = await Wire.open(target);
        open.add(wire);
      }
      const used = wire;
      used.send(
        make(sent),
        ({ status }) => {
          noteWhile(target, String(status));
          idle.push(used);
        },
        ({ message }) => noteWhile(target, message),
      );
    }
    await delay(10, undefined, { signal }).catch(() => undefined);
  }
  for (const wire of open) wire.close();
}

export interface Keyed {
  /** The Idempotency-Key of a request; undefined: it has none. */
  readonly key?: (n: number) => string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly perSecond?: number;
}

export const anyKey = () => randomUUID();

/**
 * GraphQL by the keys of the account in turn. A body that is the same for all is written once: whoever takes the times
 * must not be busy with it.
 */
export const byKeys =
  (
    body: (attacker: Attacker, n: number) => unknown,
    { key, headers = {}, perSecond = ACCOUNT }: Keyed = {},
  ): Move =>
  (target) => {
    const { attacker } = target;
    const write = (n: number) => Buffer.from(JSON.stringify(body(attacker, n)));
    const once = body.length < 2 ? write(0) : undefined;
    return steadily(target, perSecond, (n) => {
      const fields = {
        'content-type': 'application/json',
        ...bearer(attacker.keys[n % attacker.keys.length]),
        ...(key === undefined ? {} : { 'idempotency-key': key(n) }),
        ...headers,
      };
      return requestOf('POST', '/graphql', fields, once ?? write(n));
    });
  };

/** Does something again and again, at most so often. */
export async function whileWanted(
  { signal }: Target,
  perSecond: number,
  act: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    // The same traffic goes to a server that answers at once, and must not be more there.
    const pause = delay(1_000 / perSecond, undefined, { signal }).catch(() => undefined);
    await act().catch(() => undefined);
    await pause;
  }
}

/** Logs in. Undefined where that is rejected. */
export async function sessionOf(target: Target): Promise<string | undefined> {
  const { email, password } = target.attacker;
  const response = await asked(target, postRequest('/login', { email, password }, {}));
  if (response.status !== 200) return undefined;
  // A server that does nothing answers without one.
  return cookieOf(response, 'session_id') ?? 'session_id=none';
}

/** What a page of the service sends. */
export const pageFields = (cookie: string | undefined) => ({ cookie: cookie ?? '', origin: ORIGIN });

/** A long transaction of a session, beside which `others` wait for what it locks. */
export function besideLongMutation(mutation: (attacker: Attacker) => string, others: Move): Move {
  return async (target) => {
    const fields = pageFields(await sessionOf(target));
    const request = postRequest('/graphql', { query: mutation(target.attacker) }, fields);
    const holding = whileWanted(target, CLIENT, async () => void (await asked(target, request)));
    await Promise.all([holding, others(target)]);
  };
}
