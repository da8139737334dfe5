/**
 * Sends a mutation until it is answered, and has it done once. Nothing but `fetch` is needed: copy it.
 */
export interface Mutation {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
}

export interface RetryOptions {
  /** What authenticates the caller, such as `{ authorization: 'Bearer …' }`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** One for each thing that is to be done. Keep it with the task where the task outlives this process. */
  readonly idempotencyKey?: string;
  /** How often it is sent at most. */
  readonly attempts?: number;
  /** How long one answer may take. */
  readonly timeoutMs?: number;
  /** The first pause; each is twice the one before, and a random part of that is left out. */
  readonly pauseMs?: number;
}

export interface MutationAnswer {
  readonly status: number;
  /** The GraphQL response: `data`, and `errors` where there are any. */
  readonly body: { readonly data?: unknown; readonly errors?: readonly { readonly message: string }[] };
  /** Whether an earlier attempt had done it. */
  readonly replayed: boolean;
}

const MAX_PAUSE_MS = 10_000;

/** In progress, too many requests, and whatever is the service's or a proxy's trouble: the same again, later. */
function isWorthRepeating(status: number): boolean {
  return status === 409 || status === 429 || status >= 500;
}

async function sendOnce(url: string, init: RequestInit, timeoutMs: number): Promise<Response | undefined> {
  try {
    const response = await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    // An answer that breaks off halfway is none.
    return new Response(await response.text(), response);
  } catch {
    // No answer: the mutation is done or it is not. The key makes it safe to ask again.
    return undefined;
  }
}

/** Throws where no attempt was answered; the mutation may be done then, and the same key finds out later. */
export async function mutate(
  url: string,
  mutation: Mutation,
  {
    headers = {},
    idempotencyKey = crypto.randomUUID(),
    attempts = 8,
    timeoutMs = 15_000,
    pauseMs = 200,
  }: RetryOptions = {},
): Promise<MutationAnswer> {
  const init = {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `"${idempotencyKey}"` },
    body: JSON.stringify(mutation),
  };
  let lastStatus = 'no answer';
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    const response = await sendOnce(url, init, timeoutMs);
    if (response !== undefined && !isWorthRepeating(response.status)) {
      const replayed = response.headers.get('idempotency-replayed') === 'true';
      return { status: response.status, body: (await response.json()) as MutationAnswer['body'], replayed };
    }
    if (response !== undefined) lastStatus = `status ${response.status}`;
    const asked = Number(response?.headers.get('retry-after') ?? 0) * 1_000;
    const backoff = Math.min(pauseMs * 2 ** attempt, MAX_PAUSE_MS) * (0.5 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, Math.max(asked, backoff)));
  }
  throw new Error(`no answer to the mutation with the key ${idempotencyKey}: last ${lastStatus}`);
}
