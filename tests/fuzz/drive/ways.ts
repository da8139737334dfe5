import type { OutgoingHttpHeaders } from 'node:http';
import type { Random } from '../../support/random.ts';
import type { Case, Verdict } from '../case.ts';
import { anyOf, oneIn } from '../generate/draw.ts';
import type { Sent } from './client.ts';

export const MEDIA_TYPES = [
  'application/json',
  'application/graphql-response+json',
  'text/event-stream',
] as const;

/** A way in which an operation reaches the service. */
export interface Way {
  readonly method: 'GET' | 'POST';
  /** Undefined sends no Accept, which means JSON. */
  readonly accept: (typeof MEDIA_TYPES)[number] | undefined;
  /** With an Origin, its own, as a page of the service sends it. */
  readonly origin: boolean;
  /** Asks for the cost. */
  readonly cost: boolean;
  /** Sent with an Idempotency-Key that is new, then once more. */
  readonly keyed: boolean;
}

export const PLAIN_POST: Way = {
  method: 'POST',
  accept: undefined,
  origin: false,
  cost: false,
  keyed: false,
};

export function nameOf({ method, accept, origin, cost, keyed }: Way): string {
  const parts = [
    accept === undefined ? '' : `Accept: ${accept}`,
    origin ? 'Origin' : '',
    cost ? 'X-Show-Cost: 1' : '',
    keyed ? 'Idempotency-Key' : '',
  ].filter((part) => part !== '');
  return parts.length === 0 ? method : `${method} with ${parts.join(', ')}`;
}

/** The room of the way that a request takes through the service. */
export function routeOf({ method, accept, origin }: Way): string {
  if (accept === 'text/event-stream') return `${method} as an event stream`;
  return `${method} ${origin ? 'from a page' : 'from a program'}`;
}

/** The longest address that is tried. The server takes 16 KiB of headers. */
const MAX_ADDRESS = 8_000;

function addressOf({ document, variables, operationName }: Case): string {
  const parameters = new URLSearchParams({ query: document });
  if (variables !== undefined) parameters.set('variables', JSON.stringify(variables));
  if (operationName !== undefined) parameters.set('operationName', operationName);
  return `/graphql?${parameters}`;
}

/** True if an address can say the same as a body: it cannot have lone surrogates. */
export function fitsAddress(test: Case): boolean {
  const { document, operationName = '' } = test;
  if (!document.isWellFormed() || !operationName.isWellFormed()) return false;
  return addressOf(test).length <= MAX_ADDRESS;
}

function randomWay(random: Random, test: Case, writes: boolean): Way {
  const get = oneIn(random, writes ? 8 : 3) && fitsAddress(test);
  return {
    method: get ? 'GET' : 'POST',
    accept: anyOf<Way['accept']>(random, [undefined, ...MEDIA_TYPES]),
    origin: oneIn(random, 3),
    cost: oneIn(random, 4),
    keyed: oneIn(random, writes ? 2 : 8) && !get,
  };
}

/** The ways in which a case is tried: reads more than once, so that what is kept of them is met. */
export function randomWays(random: Random, test: Case, { kind }: Verdict): readonly Way[] {
  const writes = kind === 'mutation';
  const others = Array.from({ length: writes ? 1 : 2 }, () => randomWay(random, test, writes));
  if (writes) return oneIn(random, 2) ? [PLAIN_POST, ...others] : others;
  const ways = [PLAIN_POST, ...others];
  const twice = [...ways, ...ways];
  for (let at = twice.length - 1; at > 0; at -= 1) {
    const other = random.below(at + 1);
    [twice[at], twice[other]] = [twice[other] as Way, twice[at] as Way];
  }
  return twice;
}

export interface Addressed {
  readonly origin: string;
  readonly credentials: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly idempotencyKey: string | undefined;
  /** What is done once the stream of a subscription is open. */
  readonly onOpen: Sent['onOpen'];
}

/** The request of a case that goes a way. */
export function requestOf(way: Way, test: Case, addressed: Addressed): Sent {
  const { onOpen } = addressed;
  const headers: OutgoingHttpHeaders = { ...addressed.credentials, 'x-request-id': addressed.requestId };
  if (way.accept !== undefined) headers.accept = way.accept;
  if (way.origin) headers.origin = addressed.origin;
  if (way.cost) headers['x-show-cost'] = '1';
  if (addressed.idempotencyKey !== undefined) headers['idempotency-key'] = addressed.idempotencyKey;
  if (way.method === 'GET') return { method: 'GET', path: addressOf(test), headers, body: undefined, onOpen };
  const { document, variables, operationName } = test;
  headers['content-type'] = 'application/json';
  const body = JSON.stringify({ query: document, variables, operationName });
  return { method: 'POST', path: '/graphql', headers, body, onOpen };
}
