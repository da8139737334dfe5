// Follows a stream of Server-Sent Events across connection failures. A new connection requests the events
// after the last one read.

const FIRST_PAUSE_MS = 250;
/** A developer who restarts the service is looking at the page, so the pause is short. */
const MAX_PAUSE_MS = 4_000;
/** The service sends something at least every 15 seconds. A connection that is silent for longer is dead. */
const MAX_SILENCE_MS = 40_000;

/**
 * @typedef {(lastEventId?: string) => Promise<Response>} Open
 *
 * @typedef {object} Told
 * @property {() => void} opened a connection is there, the first one or another
 * @property {() => void} broken it has ended, and another is tried
 * @property {(id: string) => void} moved the position in the stream
 * @property {(result: unknown) => void} event
 */

export const isEventStream = (/** @type {Response} */ { headers, ok, body }) =>
  ok && body !== null && (headers.get('content-type') ?? '').startsWith('text/event-stream');

/** `fetch` and body readers throw these errors if a connection fails (Fetch §5.6) or is aborted. */
export const isConnectionError = (/** @type {unknown} */ error) =>
  error instanceof TypeError || (error instanceof DOMException && error.name === 'AbortError');

/** @returns {undefined} */
function lost(/** @type {unknown} */ error) {
  if (!isConnectionError(error)) throw error;
}

/** Waits until the time has passed, the network is available, or the stream is aborted. */
function pause(/** @type {number} */ ms, /** @type {AbortSignal} */ signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve(undefined);
    };
    const timer = setTimeout(end, ms);
    addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}

/** Yields each complete block. An incomplete block is dropped, because the next connection sends it again. */
async function* blocksOf(/** @type {Response} */ { body }) {
  if (body === null) return;
  // Safari cannot iterate over a stream.
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const silence = setTimeout(() => void reader.cancel().catch(lost), MAX_SILENCE_MS);
    const chunk = await reader.read().catch(lost);
    clearTimeout(silence);
    if (chunk === undefined || chunk.done) return;
    const blocks = (rest + chunk.value).split('\n\n');
    rest = blocks.pop() ?? '';
    yield* blocks;
  }
}

const fieldOf = (/** @type {string} */ block, /** @type {string} */ name) =>
  new RegExp(`^${name}: (.+)$`, 'm').exec(block)?.[1];

/** Retries until a response is final. Returns undefined if the stream was aborted. */
async function reopen(
  /** @type {Open} */ open,
  /** @type {string | undefined} */ lastEventId,
  /** @type {AbortSignal} */ signal,
) {
  let askedMs = 0;
  for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(ms * 2, MAX_PAUSE_MS)) {
    await pause(Math.max(askedMs, ms * (0.5 + Math.random() / 2)), signal);
    if (signal.aborted) return undefined;
    const response = await open(lastEventId).catch(lost);
    if (response === undefined) continue;
    if (response.status !== 429 && response.status < 500) return response;
    await response.body?.cancel();
    // The value is in seconds. A proxy may send a date, which is not a number (RFC 9110 §10.2.3).
    askedMs = (Number(response.headers.get('retry-after')) || 0) * 1_000;
  }
}

/**
 * Reads a stream to its end.
 * @param {Response} first the response that began it
 * @param {Open} open sends the operation again, with `Last-Event-ID`
 * @param {AbortSignal} signal ends it
 * @param {Told} told
 * @returns {Promise<Response | undefined>} a rejection, where the stream was asked for again and rejected for good
 */
export async function followStream(first, open, signal, told) {
  /** @type {string | undefined} */
  let lastEventId;
  /** @type {Response | undefined} */
  let response = first;
  while (response !== undefined) {
    if (!isEventStream(response)) return response;
    told.opened();
    for await (const block of blocksOf(response)) {
      lastEventId = fieldOf(block, 'id') ?? lastEventId;
      if (lastEventId !== undefined) told.moved(lastEventId);
      const data = fieldOf(block, 'data');
      if (data !== undefined) told.event(JSON.parse(data));
      if (fieldOf(block, 'event') === 'complete') return undefined;
    }
    if (signal.aborted) return undefined;
    told.broken();
    response = await reopen(open, lastEventId, signal);
  }
  return undefined;
}
