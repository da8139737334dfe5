import type { Activity } from './activity.ts';
import type { Attempts } from './attempts.ts';
import type { Clock } from './clock.ts';
import type { RetryPolicy } from './retry-policy.ts';
import type { StreamStates } from './stream-state.ts';
import type { Transport } from './transport.ts';

/** What the other parts of this package need of a client. */
export interface ClientInternals {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly attempts: Attempts;
  readonly policy: RetryPolicy;
  readonly states: StreamStates;
  /** Aborted when the client is closed. */
  readonly lifetime: AbortSignal;
}

const known = new WeakMap<object, ClientInternals>();

export function registerInternals(client: object, internals: ClientInternals): void {
  known.set(client, internals);
}

/** @throws {TypeError} for an object that `createClient` did not return */
export function findInternals(client: object): ClientInternals {
  const internals = known.get(client);
  if (internals === undefined) throw new TypeError('The client must come from createClient().');
  return internals;
}
