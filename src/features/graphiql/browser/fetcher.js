// Sends the operations of GraphiQL.
import { followStream, isConnectionError, isEventStream } from './stream.js';

/**
 * @typedef {object} Operation
 * @property {string} query
 * @property {Record<string, unknown> | undefined} [variables]
 * @property {string | null} [operationName]
 *
 * @typedef {object} Observer
 * @property {(result: unknown) => void} next
 * @property {() => void} complete
 *
 * @typedef {import('./status.js').Run} Run
 */

/** The headers request the values of the status line. The extensions contain these values. */
const ASKED = Object.entries({ 'x-show-cost': 'cost', 'x-show-event-id': 'eventId' });

/**
 * GraphiQL updates the operation name shortly after the document. Until then the name belongs to the previous
 * tab, and the document does not contain it.
 * @param {Operation} operation
 * @returns {Operation}
 */
function withOwnName({ query, variables, operationName }) {
  const isOwn =
    operationName != null &&
    new RegExp(`\\b(query|mutation|subscription)\\s+${operationName}\\b`).test(query);
  return { query, variables, ...(isOwn ? { operationName } : {}) };
}

/** A response that is not from GraphQL, such as a proxy's page, becomes a GraphQL error. */
async function resultOf(/** @type {Response} */ response) {
  const type = response.headers.get('content-type') ?? '';
  if (type.includes('json')) return response.json();
  return errorResult(`status ${response.status}: ${await response.text()}`);
}

const errorResult = (/** @type {string} */ message) => ({ errors: [{ message }] });

/**
 * Extracts the extensions that the page has requested, and removes them from the result.
 * @param {unknown} result
 * @param {ReadonlySet<string>} own extensions that the page has requested
 */
function withoutOwn(result, own) {
  const { extensions = {}, ...rest } = Object(result);
  const others = Object.entries(extensions).filter(([name]) => !own.has(name));
  return {
    cost: extensions.cost,
    eventId: extensions.eventId,
    hasErrors: 'errors' in rest,
    shown: others.length === 0 ? rest : { ...rest, extensions: Object.fromEntries(others) },
  };
}

/** Sends one operation, and reads its response or its events to the end. */
async function run(
  /** @type {string} */ endpoint,
  /** @type {Operation} */ operation,
  /** @type {Headers} */ headers,
  /** @type {{ signal: AbortSignal, observer: Observer, status: Run }} */ { signal, observer, status },
) {
  const own = new Set();
  for (const [header, extension] of ASKED) {
    if (headers.has(header)) continue;
    headers.set(header, '1');
    own.add(extension);
  }
  const open = (/** @type {string | undefined} */ lastEventId) => {
    if (lastEventId !== undefined) headers.set('last-event-id', lastEventId);
    return fetch(endpoint, { method: 'POST', headers, body: JSON.stringify(operation), signal });
  };
  const show = (/** @type {unknown} */ result) => {
    const { shown, ...told } = withoutOwn(result, own);
    observer.next(shown);
    return told;
  };
  const first = await open(undefined);
  if (!isEventStream(first)) {
    const told = show(await resultOf(first));
    return status.responded(first.status, told);
  }
  const rejection = await followStream(first, open, signal, {
    opened: status.opened,
    broken: status.broken,
    moved: status.moved,
    event: (result) => status.event(show(result)),
  });
  if (rejection === undefined) return status.ended();
  const told = show(await resultOf(rejection));
  return status.responded(rejection.status, told);
}

/** Describes an error without a response. */
const messageOf = (/** @type {unknown} */ error) =>
  isConnectionError(error) ? 'The service does not respond.' : String(error);

/**
 * Creates a `Fetcher` of GraphiQL that returns an Observable. Unsubscribing ends the request.
 * @param {string} endpoint
 * @param {(operationName: string | null | undefined) => Run} begin shows an operation in the status line
 */
export function createFetcher(endpoint, begin) {
  return (
    /** @type {Operation} */ operation,
    /** @type {{ headers?: Record<string, string> }} */ { headers = {} } = {},
  ) => ({
    subscribe(/** @type {Observer} */ observer) {
      const stop = new AbortController();
      const { signal } = stop;
      const sent = new Headers(headers);
      if (!sent.has('accept')) sent.set('accept', 'application/json, text/event-stream');
      if (!sent.has('content-type')) sent.set('content-type', 'application/json');
      const status = begin(operation.operationName);
      run(endpoint, withOwnName(operation), sent, { signal, observer, status })
        .catch((error) => {
          if (signal.aborted) return;
          observer.next(errorResult(messageOf(error)));
          status.noResponse();
        })
        .finally(() => observer.complete());
      return {
        unsubscribe() {
          stop.abort();
          status.stopped();
        },
      };
    },
  });
}
