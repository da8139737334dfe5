/**
 * A `fetch` whose event streams do not break off: if the connection ends, it asks for the events after the last one, as
 * often as needed, and the reader notices nothing. Other responses are passed on as they are. Give it to any client of
 * GraphQL over Server-Sent Events that calls it with an address. Needs only `fetch`: copy this file.
 */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
/** The service sends something at least every 15 seconds. A connection that is silent for longer is dead. */
const MAX_SILENCE_MS = 40_000;

type Input = Parameters<typeof fetch>[0];

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

/** Throws if the service refuses the stream for good, for example because the credentials have ended. */
async function reopen(input: Input, init: RequestInit, signal: AbortSignal): Promise<Response> {
  let askedMs = 0;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
    const jittered = pauseMs * (0.5 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, Math.max(askedMs, jittered)));
    signal.throwIfAborted();
    const response = await fetch(input, { ...init, signal }).catch(() => undefined);
    signal.throwIfAborted();
    if (response === undefined) continue;
    if (response.ok) return response;
    await response.body?.cancel();
    const { status } = response;
    if (status !== 429 && status < 500) throw new Error(`the event stream was refused with status ${status}`);
    // In seconds. A proxy may send a date, which is not a number (RFC 9110, section 10.2.3).
    askedMs = (Number(response.headers.get('retry-after')) || 0) * 1_000;
  }
}

async function* readOn(
  first: Response,
  input: Input,
  init: RequestInit,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const headers = new Headers(init.headers);
  for (let response = first; ; response = await reopen(input, { ...init, headers }, signal)) {
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
    }
  }
}

export const resumingFetch: typeof fetch = async (input, init = {}) => {
  const left = new AbortController();
  const signal = init.signal == null ? left.signal : AbortSignal.any([init.signal, left.signal]);
  const first = await fetch(input, { ...init, signal });
  if (!first.ok || !first.headers.get('content-type')?.startsWith('text/event-stream')) return first;
  const events = readOn(first, input, init, signal);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await events.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: () => left.abort(),
  });
  return new Response(body, first);
};
