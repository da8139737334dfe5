/**
 * A `fetch` whose event streams do not break off: if a connection fails, it asks for the events after the last one, as
 * often as needed, and the reader notices nothing. The first connection is tried again, too, where the request accepts
 * event streams and no JSON. Other requests are sent once. Give it to any client of GraphQL over Server-Sent Events that
 * calls it with an address, for subscriptions: a mutation over such a stream would be sent again. Needs only `fetch`:
 * copy this file.
 */
export interface ResumingOptions {
  /** Called with each new state of a stream, for example to show it to a person. */
  readonly onState?: ((state: StreamState) => void) | undefined;
}

export type StreamState =
  | { readonly status: 'connecting' | 'live' }
  | {
      readonly status: 'reconnecting';
      /** The number of the attempt that follows the pause, from 1. */
      readonly attempt: number;
      readonly waitMs: number;
      /** The status of the response, or the error of the connection, that led to the pause. */
      readonly httpStatus?: number;
      readonly error?: unknown;
    }
  /** Completed or refused by the service, or left by the reader. The stream is not opened again. */
  | { readonly status: 'closed'; readonly httpStatus?: number };

const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** The service sends something at least every 15 seconds. A connection that is silent for longer is dead. */
const MAX_SILENCE_MS = 40_000;

type Input = Parameters<typeof fetch>[0];

interface Stream {
  readonly input: Input;
  readonly init: RequestInit;
  /** With the id of the last event. */
  readonly headers: Headers;
  readonly signal: AbortSignal;
  readonly tell: (state: StreamState) => void;
}

interface Failure {
  readonly httpStatus?: number;
  readonly error?: unknown;
}

const typeOf = ({ headers }: Response) => headers.get('content-type') ?? '';
const isStream = (response: Response) => response.ok && typeOf(response).startsWith('text/event-stream');

/** True for a timeout, too many requests, server errors, and a page of something between client and service. */
function mayPass(response: Response): boolean {
  const { status, ok } = response;
  return (
    status === 408 || status === 429 || status >= 500 || (ok && typeOf(response).startsWith('text/html'))
  );
}

/** Clients accept JSON for queries and mutations, and event streams alone for subscriptions. */
function asksForStream({ headers }: RequestInit): boolean {
  const accept = new Headers(headers).get('accept') ?? '';
  return accept.includes('text/event-stream') && !accept.includes('json');
}

async function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, waitMs);
    signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });
  signal.throwIfAborted();
}

/** Sends the request once. Fails if no response begins in time. */
async function sendOnce({ input, init, headers, signal }: Stream): Promise<Response> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error('no response')), MAX_SILENCE_MS);
  try {
    return await fetch(input, { ...init, headers, signal: AbortSignal.any([signal, silence.signal]) });
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves to a stream, or to the response by which the service refuses the stream for good. */
async function connect(stream: Stream, broken?: Failure): Promise<Response> {
  const { signal, tell } = stream;
  let failure = broken;
  let askedMs = 0;
  for (let pauseMs = FIRST_PAUSE_MS, attempt = 1; ; ) {
    if (failure !== undefined) {
      const waitMs = Math.max(askedMs, pauseMs * (0.5 + Math.random() / 2));
      tell({ status: 'reconnecting', attempt, waitMs, ...failure });
      await pause(waitMs, signal);
      attempt += 1;
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    try {
      const response = await sendOnce(stream);
      if (!mayPass(response)) return response;
      await response.body?.cancel();
      failure = { httpStatus: response.status };
      // In seconds. A proxy may send a date, which is not a number (RFC 9110, section 10.2.3).
      askedMs = (Number(response.headers.get('retry-after')) || 0) * 1_000;
    } catch (error) {
      signal.throwIfAborted();
      failure = { error };
      askedMs = 0;
    }
  }
}

/** Yields each complete event. The rest of one that was cut off is dropped: the next connection sends it again. */
async function* readEvents(response: Response): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return;
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const silence = setTimeout(() => void reader.cancel().catch(() => undefined), MAX_SILENCE_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    const events = (text + decoder.decode(value, { stream: true })).split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) yield `${event}\n\n`;
  }
}

async function* readOn(first: Response, stream: Stream): AsyncGenerator<string> {
  const { headers, signal, tell } = stream;
  let refused: Failure = {};
  let broken: Failure = {};
  try {
    for (let response = first; ; response = await connect(stream, broken)) {
      if (!isStream(response)) {
        refused = { httpStatus: response.status };
        await response.body?.cancel();
        throw new Error(`the event stream was refused with status ${response.status}`);
      }
      tell({ status: 'live' });
      broken = {};
      try {
        for await (const event of readEvents(response)) {
          yield event;
          const id = /^id: (.+)$/m.exec(event)?.[1];
          if (id !== undefined) headers.set('last-event-id', id);
          if (/^event: complete$/m.test(event)) return;
        }
      } catch (error) {
        // The connection broke, unless the reader has left.
        if (signal.aborted) throw error;
        broken = { error };
      }
    }
  } finally {
    tell({ status: 'closed', ...refused });
  }
}

function bodyOf(events: AsyncGenerator<string>, left: AbortController): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await events.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      left.abort();
      await events.return(undefined);
    },
  });
}

export function createResumingFetch({ onState }: ResumingOptions = {}): typeof fetch {
  const tell = (state: StreamState) => onState?.(state);
  return async (input, init = {}) => {
    const left = new AbortController();
    const signal = init.signal == null ? left.signal : AbortSignal.any([init.signal, left.signal]);
    const stream: Stream = { input, init, headers: new Headers(init.headers), signal, tell };
    if (!asksForStream(init)) {
      const response = await fetch(input, { ...init, signal });
      return isStream(response) ? new Response(bodyOf(readOn(response, stream), left), response) : response;
    }
    // Throws for an invalid address, which would be tried for ever.
    new Request(input);
    tell({ status: 'connecting' });
    try {
      const response = await connect(stream);
      if (isStream(response)) return new Response(bodyOf(readOn(response, stream), left), response);
      tell({ status: 'closed', httpStatus: response.status });
      return response;
    } catch (error) {
      tell({ status: 'closed' });
      throw error;
    }
  };
}

export const resumingFetch = createResumingFetch();
