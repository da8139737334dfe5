import { print } from '@0no-co/graphql.web';
import type { TadaDocumentNode } from 'gql.tada';
import { retryingFetch } from '../../../retry.ts';
import { type ApiError, type Pause, problemOf, RequestFailed, unanswered } from './problem.ts';
import { pause } from './reachable.ts';

/** The origin of the service; empty if it is the origin of this page. */
export const API_ORIGIN = (import.meta.env.VITE_API_URL ?? '').replace(/\/$/, '');
export const GRAPHQL_URL = `${API_ORIGIN}/graphql`;

const TIMEOUT_MS = 15_000;
const ATTEMPTS = 8;

interface Answer {
  readonly data?: unknown;
  /** Of `/login`. */
  readonly user?: unknown;
  readonly errors?: readonly ApiError[];
}

export interface Done<Data> {
  readonly data: Data;
  /** Whether an earlier attempt had run it. The stream may have told of later changes since. */
  readonly replayed: boolean;
}

/** One attempt. `retryingFetch` has a time limit of its own for each. */
const limitedFetch: typeof fetch = (input, init) =>
  fetch(input, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });

/** The session cookie authenticates, also from another origin of the same site. Throws RequestFailed. */
export async function request(path: string, init: RequestInit, fetcher = limitedFetch): Promise<Response> {
  try {
    const response = await fetcher(API_ORIGIN + path, { ...init, credentials: 'include' });
    // A body that breaks off counts as no response.
    return new Response(response.status === 204 ? null : await response.text(), response);
  } catch {
    throw new RequestFailed(unanswered(API_ORIGIN));
  }
}

/** The body of a response. Proxies answer in other formats, or with nothing. */
export async function answerOf(response: Response): Promise<Answer> {
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const answer = isJson ? await response.json().catch(() => undefined) : undefined;
  return answer ?? { errors: [] };
}

async function call<Data>(body: unknown, init: RequestInit, fetcher?: typeof fetch): Promise<Done<Data>> {
  const headers = { 'content-type': 'application/json' };
  const sent = { ...init, method: 'POST', headers, body: JSON.stringify(body) };
  const response = await request('/graphql', sent, fetcher);
  const { data, errors } = await answerOf(response);
  if (errors !== undefined || data == null)
    throw new RequestFailed(problemOf(response.status, response.headers, errors ?? []), data !== undefined);
  return { data: data as Data, replayed: response.headers.get('idempotency-replayed') === 'true' };
}

/** Throws RequestFailed. */
export async function query<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  return (await call<Data>({ query: print(document), variables }, {})).data;
}

/** Of the user who is signed in: what one has sent is not repeated for the next. */
let sending = new AbortController();

/** Ends the mutations that are being sent. Whoever waits for one learns that there is no answer. */
export function endMutations(): void {
  sending.abort();
  sending = new AbortController();
}

/**
 * Runs a mutation once for each key. While there is no answer, or the service asks to wait, the request is repeated and
 * `onPause` is called. Throws RequestFailed.
 */
export function mutate<Data, Variables>(
  document: TadaDocumentNode<Data, Variables>,
  variables: Variables,
  idempotencyKey: string,
  onPause: (pause: Pause) => void,
): Promise<Done<Data>> {
  const fetcher = retryingFetch({
    idempotencyKey,
    attempts: ATTEMPTS,
    timeoutMs: TIMEOUT_MS,
    pause,
    onPause: (waitMs, status) => onPause({ untilMs: Date.now() + waitMs, status }),
  });
  return call({ query: print(document), variables }, { signal: sending.signal }, fetcher);
}
