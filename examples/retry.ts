/** Retries a mutation until it is answered, and runs it only once. Needs only `fetch`: copy this file. */
export interface Mutation {
  /** The text, or in its place the id of a published document. */
  readonly query?: string;
  readonly documentId?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
}

export interface RetryOptions {
  /**
   * One key per task. Store a string with the task if the task outlives this process, and discard the string only after
   * a response with `data`. A `TaskKey` does this for a form.
   */
  readonly idempotencyKey?: string | TaskKey;
  /** The maximum number of attempts. */
  readonly attempts?: number;
  /** The time limit for one attempt. */
  readonly timeoutMs?: number;
  /** The first pause. Each further one doubles it, and random jitter shortens it by up to half. */
  readonly pauseMs?: number;
  /** Waits out a pause that the service has not asked for. It may end sooner, as when the network is back. */
  readonly pause?: (waitMs: number) => Promise<void>;
  /** Called before each pause, for example to tell a person. The status is undefined if there was no answer. */
  readonly onPause?: (waitMs: number, status: number | undefined) => void;
}

export interface MutationOptions extends RetryOptions {
  /** Must authenticate the caller, for example `{ authorization: 'Bearer …' }`. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface MutationAnswer {
  readonly status: number;
  /** The GraphQL response. With `data`, which may be null, the outcome is known and the key can be discarded. */
  readonly body: { readonly data?: unknown; readonly errors?: readonly { readonly message: string }[] };
  /** Whether an earlier attempt had already run the mutation. */
  readonly replayed: boolean;
}

const MAX_PAUSE_MS = 10_000;

/** Creates a random key. Unlike `randomUUID`, `getRandomValues` is there on insecure origins, such as `http://192.168.0.7`. */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The key of what a form sends. Equal bodies get the same key until a response has `data`, because the status of a later
 * attempt does not tell whether an earlier attempt took effect.
 */
export class TaskKey {
  #body: unknown;
  #key: string | undefined;

  keyOf(body: unknown): string {
    if (this.#key === undefined || this.#body !== body) this.#key = createIdempotencyKey();
    this.#body = body;
    return this.#key;
  }

  /** Makes the next body another task, even if it is equal. Does nothing if `key` is of an earlier body. */
  discard(key = this.#key): void {
    if (key === this.#key) this.#key = undefined;
  }
}

/** True for the response to an executed mutation. A refusal has no `data`, and neither has a page of a proxy. */
async function hasData(response: Response): Promise<boolean> {
  if (response.headers.get('content-type')?.includes('json') !== true) return false;
  const body: unknown = await response.json();
  return typeof body === 'object' && body !== null && 'data' in body;
}

const timer = (waitMs: number) => new Promise<void>((resolve) => setTimeout(resolve, waitMs));

/** True for a timeout (408), a first attempt that still runs (409), too many requests (429), and server errors. */
function isWorthRepeating(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** Waits, but not for whoever has given up. */
async function unlessAborted(waiting: Promise<void>, signal: AbortSignal | null | undefined): Promise<void> {
  if (signal == null) return waiting;
  signal.throwIfAborted();
  const aborted = new Promise<void>((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
  await Promise.race([waiting, aborted]);
  signal.throwIfAborted();
}

async function sendOnce(
  input: Parameters<typeof fetch>[0],
  init: RequestInit,
  timeoutMs: number,
): Promise<Response | undefined> {
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = init.signal == null ? limit : AbortSignal.any([init.signal, limit]);
  try {
    const response = await fetch(input, { ...init, signal });
    // A response that breaks off counts as no answer.
    return new Response(await response.text(), response);
  } catch {
    init.signal?.throwIfAborted();
    // The mutation may or may not have run. The key makes it safe to retry.
    return undefined;
  }
}

/**
 * A `fetch` for one mutation, for any client library that accepts one and calls it with an address. It sends the key and
 * repeats the request. Throws if no attempt was answered. The mutation may have run; a later call with the same key finds
 * out.
 */
export function retryingFetch({
  idempotencyKey = new TaskKey(),
  attempts = 8,
  timeoutMs = 15_000,
  pauseMs = 200,
  pause = timer,
  onPause,
}: RetryOptions = {}): typeof fetch {
  return async (input, init) => {
    const key = typeof idempotencyKey === 'string' ? idempotencyKey : idempotencyKey.keyOf(init?.body);
    const headers = new Headers(init?.headers);
    headers.set('idempotency-key', `"${key}"`);
    let lastStatus = 'no answer';
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const response = await sendOnce(input, { ...init, headers }, timeoutMs);
      if (response !== undefined && !isWorthRepeating(response.status)) {
        if (typeof idempotencyKey !== 'string' && (await hasData(response.clone())))
          idempotencyKey.discard(key);
        return response;
      }
      if (response !== undefined) lastStatus = `status ${response.status}`;
      if (attempt === attempts - 1) break;
      // In seconds. A proxy may send a date, which is not a number (RFC 9110, section 10.2.3).
      const asked = (Number(response?.headers.get('retry-after')) || 0) * 1_000;
      const backoff = Math.min(pauseMs * 2 ** attempt, MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
      const waitMs = Math.max(asked, backoff);
      onPause?.(waitMs, response?.status);
      await unlessAborted((asked > 0 ? timer : pause)(waitMs), init?.signal);
    }
    throw new Error(`no answer to the mutation with the key ${key}: last ${lastStatus}`);
  };
}

/** Runs a mutation by itself, without a client library. Throws as `retryingFetch` does. */
export async function mutate(
  url: string,
  mutation: Mutation,
  { headers = {}, ...options }: MutationOptions = {},
): Promise<MutationAnswer> {
  const response = await retryingFetch(options)(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(mutation),
  });
  const replayed = response.headers.get('idempotency-replayed') === 'true';
  return { status: response.status, body: (await response.json()) as MutationAnswer['body'], replayed };
}
