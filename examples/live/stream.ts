import { type SseBlock, sseParser } from './sse.ts';

/** One GraphQL subscription over Server-Sent Events, read once from its opening to its end. Needs only `fetch`. */
export interface Subscription {
  /** The address of the service, for example `https://api.example.com/graphql`. */
  readonly url: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
  /** Called before each request, for example for an access token. Without it, the session cookie authenticates. */
  readonly headers?: () => HeadersInit | Promise<HeadersInit>;
}

export interface LiveError {
  readonly message: string;
  readonly extensions?: { readonly code?: string };
}

export interface LivePayload<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly LiveError[];
}

/** Why a stream is not open. */
export interface Failure {
  /** `takeover`: the tab that read the stream is gone. `unauthenticated`: sign in, then call `retry()`. */
  readonly reason: 'takeover' | 'network' | 'unauthenticated' | 'rate-limited' | 'unavailable';
  readonly httpStatus?: number;
  readonly detail?: string;
}

export interface Refusal {
  readonly httpStatus?: number;
  readonly errors: readonly LiveError[];
}

/** How a stream ended. `gap`: events after the last id are lost, and a new stream can begin at `position`. */
export type Ending =
  | { readonly kind: 'retry'; readonly failure: Failure; readonly retryAfterMs?: number }
  | { readonly kind: 'gap'; readonly position: string }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/** The service sends a heartbeat at least every 15 seconds. */
const SILENCE_MS = 45_000;

function reasonOf(httpStatus: number): Failure['reason'] | undefined {
  if (httpStatus === 401) return 'unauthenticated';
  if (httpStatus === 429) return 'rate-limited';
  return httpStatus >= 500 || httpStatus === 408 || httpStatus === 200 ? 'unavailable' : undefined;
}

async function endingOf(response: Response): Promise<Ending> {
  const httpStatus = response.status;
  const text = await response.text();
  const reason = reasonOf(httpStatus);
  if (reason !== undefined) {
    const asked = response.headers.get('retry-after');
    const retryAfterMs = Number(asked) * 1_000 || Date.parse(asked ?? '') - Date.now();
    return { kind: 'retry', failure: { reason, httpStatus }, ...(retryAfterMs > 0 ? { retryAfterMs } : {}) };
  }
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const errors = (isJson ? (JSON.parse(text) as LivePayload<unknown>).errors : undefined) ?? [
    { message: text },
  ];
  return { kind: 'refused', refusal: { httpStatus, errors } };
}

/** What a last `next` without data means. Undefined if it says nothing about the stream. */
function verdictOf({ id, data = '' }: SseBlock): Ending | undefined {
  const { errors = [], ...payload }: LivePayload<unknown> = JSON.parse(data);
  const code = 'data' in payload ? undefined : errors[0]?.extensions?.code;
  if (code === 'UNAUTHENTICATED') return { kind: 'retry', failure: { reason: 'unauthenticated' } };
  if (code === 'FORBIDDEN') return { kind: 'refused', refusal: { errors } };
  const isLost = code === 'EVENT_HISTORY_EXPIRED' || code === 'BAD_USER_INPUT';
  return isLost && id !== undefined ? { kind: 'gap', position: id } : undefined;
}

/** Reads a stream to its end. Never throws. */
export async function readStream(
  { url, query, variables, operationName, headers: getHeaders }: Subscription,
  lastEventId: string | undefined,
  signal: AbortSignal,
  onBlock: (block: SseBlock) => void,
): Promise<Ending> {
  const silence = new AbortController();
  const giveUp = () => silence.abort(new Error(`nothing received for ${SILENCE_MS} ms`));
  let watchdog = setTimeout(giveUp, SILENCE_MS);
  try {
    const headers = new Headers(await getHeaders?.());
    headers.set('accept', 'text/event-stream');
    headers.set('content-type', 'application/json');
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    const body = JSON.stringify({ query, variables, operationName });
    const signals = AbortSignal.any([signal, silence.signal]);
    const init = { method: 'POST', headers, body, signal: signals } as const;
    // No `cache`: with one, browsers ask before each request to another origin. The response is `no-store` by itself.
    const response = await fetch(url, { ...init, credentials: 'include' });
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!response.ok || !isStream || response.body === null) return await endingOf(response);
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parse = sseParser();
    let verdict: Ending | undefined;
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { kind: 'retry', failure: { reason: 'network', detail: 'the stream ended' } };
      clearTimeout(watchdog);
      watchdog = setTimeout(giveUp, SILENCE_MS);
      for (const block of parse(decoder.decode(value, { stream: true }))) {
        if (block.event === 'complete') return verdict ?? { kind: 'refused', refusal: { errors: [] } };
        verdict = block.event === 'next' ? verdictOf(block) : undefined;
        if (verdict === undefined) onBlock(block);
      }
    }
  } catch (error) {
    return { kind: 'retry', failure: { reason: 'network', detail: String(error) } };
  } finally {
    clearTimeout(watchdog);
    silence.abort();
  }
}

/**
 * Milliseconds before the next attempt: exponential, with full jitter. Without valid credentials the attempts are
 * rarer, because failed ones have a limit of their own.
 */
export function pauseBefore(ending: Ending, attempt: number, baseMs: number): number {
  const doubled = 2 ** (attempt - 1);
  if (ending.kind === 'retry' && ending.retryAfterMs !== undefined)
    return Math.round(ending.retryAfterMs + Math.random() * baseMs);
  if (ending.kind === 'retry' && ending.failure.reason === 'unauthenticated')
    return Math.round(Math.min(60_000, 5_000 * doubled) * (0.5 + Math.random() / 2));
  return Math.round(Math.min(30_000, baseMs * doubled) * Math.random());
}
