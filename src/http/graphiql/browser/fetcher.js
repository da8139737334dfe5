// Sends the operations of GraphiQL.

/**
 * @typedef {object} Operation
 * @property {string} query
 * @property {Record<string, unknown> | undefined} [variables]
 * @property {string | null} [operationName]
 *
 * @typedef {object} Observer
 * @property {(result: unknown) => void} next
 * @property {(error: unknown) => void} error
 * @property {() => void} complete
 */

/**
 * GraphiQL reads the name of an operation a moment after it shows it. Until then it gives the name from the tab
 * before, which the document does not have.
 * @param {Operation} operation
 * @returns {Operation}
 */
function withOwnName({ query, variables, operationName }) {
  const isOwn =
    operationName != null &&
    new RegExp(`\\b(query|mutation|subscription)\\s+${operationName}\\b`).test(query);
  return { query, variables, ...(isOwn ? { operationName } : {}) };
}

/**
 * Calls `onResult` with each result: the one in a JSON response, or those in a stream of Server-Sent Events. Throws
 * for a response of something else, such as a proxy.
 * @param {Response} response
 * @param {(result: unknown) => void} onResult
 */
async function readResults(response, onResult) {
  const { headers, body, status } = response;
  const type = headers.get('content-type') ?? '';
  if (body === null || !type.startsWith('text/event-stream')) {
    if (!type.includes('json')) throw new Error(`status ${status}: ${await response.text()}`);
    return onResult(await response.json());
  }
  let rest = '';
  // Safari cannot iterate over a stream.
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = /^data: (.+)$/m.exec(block)?.[1];
      if (data !== undefined) onResult(JSON.parse(data));
    }
  }
}

/**
 * A `Fetcher` of GraphiQL that returns an Observable: unsubscribing ends the request.
 * @param {string} endpoint
 */
export function createFetcher(endpoint) {
  return (
    /** @type {Operation} */ operation,
    /** @type {{ headers?: Record<string, string> }} */ { headers = {} } = {},
  ) => ({
    subscribe(/** @type {Observer} */ observer) {
      const stop = new AbortController();
      const sent = new Headers(headers);
      if (!sent.has('accept')) sent.set('accept', 'application/json, text/event-stream');
      if (!sent.has('content-type')) sent.set('content-type', 'application/json');
      const request = fetch(endpoint, {
        method: 'POST',
        headers: sent,
        body: JSON.stringify(withOwnName(operation)),
        signal: stop.signal,
      });
      request
        .then((response) => readResults(response, (result) => observer.next(result)))
        .then(
          () => observer.complete(),
          (error) => {
            if (!stop.signal.aborted) observer.error(error);
          },
        );
      return { unsubscribe: () => stop.abort() };
    },
  });
}
