import type { Answers } from './answers.ts';
import { type SseBlock, sseParser } from './sse.ts';

/** Where the service is. Without `headers`, which is called before each request, the session cookie authenticates. */
export interface Service {
  readonly url: string;
  readonly headers?: () => HeadersInit | Promise<HeadersInit>;
}

export interface Operation extends Service {
  readonly query: string;
  /** The id under which the query is published: it is asked for by GET then. */
  readonly documentId?: string | undefined;
  readonly variables?: Readonly<Record<string, unknown>>;
}

interface Payload<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
  readonly extensions?: { readonly eventId?: string };
}

/** It is tried again. `leaderChange`: the tab that read the stream is gone. `unauthenticated`: sign in, then `retry()`. */
export interface Failure {
  readonly status: 'reconnecting';
  readonly reason: 'leaderChange' | 'network' | 'unauthenticated' | 'rate-limited' | 'unavailable';
  readonly httpStatus?: number;
  readonly detail?: string;
  readonly retryAfterMs?: number;
}

/** The service refuses it, or has ended it. It is not tried again. */
export interface Refusal {
  readonly status: 'closed';
  readonly httpStatus?: number;
  readonly errors: NonNullable<Payload<unknown>['errors']>;
}

/** Changes are lost. A new stream can begin at `position`. */
export type Ending = Failure | Refusal | { readonly status: 'missedEvents'; readonly position: string };

/** Two heartbeats, one every 12 seconds, and a little more: with WATCH_MS, silence is noticed in less than 30 seconds. */
const SILENCE_MS = 26_000;
const WATCH_MS = 2_000;
const ANSWER_MS = 20_000;

const broken = (detail: string): Failure => ({ status: 'reconnecting', reason: 'network', detail });

async function payloadOf<Data>(response: Response): Promise<Payload<Data>> {
  const text = await response.text();
  // A proxy's page is nothing to show.
  return /json/.test(response.headers.get('content-type') ?? '') ? JSON.parse(text) : {};
}

function endingOf({ status: httpStatus, headers }: Response, { errors = [] }: Payload<unknown>) {
  const mayPass = httpStatus >= 500 || httpStatus === 408;
  const known = { 401: 'unauthenticated', 429: 'rate-limited' } as const;
  const reason = known[httpStatus as 401 | 429] ?? (mayPass ? 'unavailable' : undefined);
  if (reason === undefined) return { status: 'closed', httpStatus, errors } satisfies Refusal;
  const asked = headers.get('retry-after');
  const retryAfterMs = Number(asked) * 1_000 || Date.parse(asked ?? '') - Date.now();
  const failure = { status: 'reconnecting', reason, httpStatus } satisfies Failure;
  return retryAfterMs > 0 ? { ...failure, retryAfterMs } : failure;
}

async function headersOf(operation: Operation, own: Record<string, string>): Promise<Headers> {
  const headers = new Headers(await operation.headers?.());
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  return headers;
}

async function send(operation: Operation, own: Record<string, string>, signal: AbortSignal) {
  const { url, query, variables } = operation;
  const headers = await headersOf(operation, own);
  headers.set('content-type', 'application/json');
  // No `cache`: with one, browsers ask before each request to another origin. The response is `no-store` by itself.
  const init = { method: 'POST', headers, signal, credentials: 'include' } as const;
  return fetch(url, { ...init, body: JSON.stringify({ query, variables }) });
}

/** Asks by the id, if there is one. Undefined if the service does not have it. */
async function sendId(
  operation: Operation,
  own: Record<string, string>,
  answers: Answers,
  signal: AbortSignal,
) {
  const { url, documentId, variables = {} } = operation;
  if (documentId === undefined || answers.unknown.has(documentId)) return undefined;
  const parameters = new URLSearchParams({ documentId, variables: JSON.stringify(variables) });
  const response = await answers.get(`${url}?${parameters}`, await headersOf(operation, own), signal);
  if (response.status !== 404) return response;
  answers.unknown.add(documentId);
  return undefined;
}

export interface Reading {
  readonly answers: Answers;
  /** Whether it must be known which changes the answer does not show. Such an answer is another one each time. */
  readonly showsEventId: boolean;
  readonly signal: AbortSignal;
}

/** Asks once. Every change that the answer does not show comes after the event `eventId`. Never throws. */
export async function readAnswer<Data>(operation: Operation, { answers, showsEventId, signal }: Reading) {
  try {
    const signals = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
    const own: Record<string, string> = showsEventId ? { 'x-show-event-id': '1' } : {};
    const response =
      (await sendId(operation, own, answers, signals)) ?? (await send(operation, own, signals));
    const payload = await payloadOf<Data>(response);
    if (payload.data == null) return endingOf(response, payload);
    return { status: 'answered', data: payload.data, eventId: payload.extensions?.eventId } as const;
  } catch (error) {
    return broken(String(error));
  }
}

/** What a last `next` without data means. Undefined if it says nothing about the stream. */
function verdictOf({ id, data = '' }: SseBlock): Ending | undefined {
  const { errors = [], ...payload }: Payload<unknown> = JSON.parse(data);
  const code = 'data' in payload ? undefined : errors[0]?.extensions?.code;
  if (code === 'UNAUTHENTICATED') return { status: 'reconnecting', reason: 'unauthenticated' };
  if (code === undefined) return undefined;
  // Without an id it is about the subscription, not about an event.
  if (id === undefined) return { status: 'closed', errors };
  const isLost = code === 'EVENT_HISTORY_EXPIRED' || code === 'BAD_USER_INPUT';
  return isLost ? { status: 'missedEvents', position: id } : undefined;
}

/** Reads a stream from its opening to its end, and says how it ended. Never throws. */
export async function readStream(
  operation: Operation,
  lastEventId: string,
  signal: AbortSignal,
  onBlock: (block: SseBlock) => void,
): Promise<Ending> {
  const silence = new AbortController();
  let heardAtMs = Date.now();
  // By the clock of the day: a timer stands still while the machine sleeps.
  const watch = setInterval(() => Date.now() - heardAtMs > SILENCE_MS && silence.abort('silence'), WATCH_MS);
  try {
    const own = { accept: 'text/event-stream', 'last-event-id': lastEventId };
    const response = await send(operation, own, AbortSignal.any([signal, silence.signal]));
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    const reader = response.ok && isStream ? response.body?.getReader() : undefined;
    if (reader === undefined) return endingOf(response, await payloadOf(response));
    const decoder = new TextDecoder();
    const parse = sseParser();
    let verdict: Ending | undefined;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return broken('the stream ended');
      heardAtMs = Date.now();
      for (const block of parse(decoder.decode(value, { stream: true }))) {
        if (block.event === 'complete') return verdict ?? { status: 'closed', errors: [] };
        verdict = block.event === 'next' ? verdictOf(block) : undefined;
        if (verdict === undefined) onBlock(block);
      }
    }
  } catch (error) {
    return broken(String(error));
  } finally {
    clearInterval(watch);
    silence.abort();
  }
}
