// Sends the operations of GraphiQL.
import { createClient, isContentGraphError } from './client/src/index.ts';

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
 * @typedef {import('./status.js').Told} Told
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
    hasErrors: rest.errors !== undefined,
    shown: others.length === 0 ? rest : { ...rest, extensions: Object.fromEntries(others) },
  };
}

/** Determines from the heads of the operations whether the service would respond with a stream. */
function isSubscription(/** @type {Operation} */ { query, operationName }) {
  let heads = query.replace(/"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#.*/g, '');
  for (let before = ''; before !== heads; ) {
    before = heads;
    heads = heads.replace(/\{[^{}]*\}|\([^()]*\)/g, ';');
  }
  const operations = [...heads.matchAll(/(?<!fragment\s+)\b(query|mutation|subscription)\b\s*(\w*)/g)];
  const [, type] = operations.find(([, , name]) => name === operationName) ?? operations[0] ?? [];
  return type === 'subscription';
}

/** Follows a subscription until the service closes it. */
async function follow(
  /** @type {string} */ endpoint,
  /** @type {Operation} */ { query, variables = {}, operationName },
  /** @type {Headers} */ headers,
  /** @type {{ signal: AbortSignal, show: (result: object) => Told, status: Run }} */ {
    signal,
    show,
    status,
  },
) {
  const client = createClient({ url: endpoint, headers });
  const stop = new AbortController();
  signal.addEventListener('abort', () => stop.abort(signal.reason));
  const events = client.subscribe(query, variables, {
    signal: stop.signal,
    operationName: operationName ?? undefined,
    position: { load: () => undefined, save: status.moved },
    onState(state) {
      if (state.status === 'live') status.opened();
      if (state.status !== 'reconnecting') return;
      status.broken();
      // The key stays as it is in the headers editor.
      if (state.reason === 'unauthenticated') stop.abort(state.error);
    },
  });
  try {
    for await (const { type: _type, id: _id, ...result } of events) status.event(show(result));
    status.ended();
  } catch (error) {
    if (!isContentGraphError(error)) throw error;
    const told = show({ errors: error.errors.length > 0 ? error.errors : [{ message: error.message }] });
    if (error.httpStatus === undefined) status.ended();
    else status.responded(error.httpStatus, told);
  } finally {
    client.close();
  }
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
  const show = (/** @type {unknown} */ result) => {
    const { shown, ...told } = withoutOwn(result, own);
    observer.next(shown);
    return told;
  };
  if (isSubscription(operation)) return follow(endpoint, operation, headers, { signal, show, status });
  const response = await fetch(endpoint, {
    method: 'POST',
    headers,
    body: JSON.stringify(operation),
    signal,
  });
  const told = show(await resultOf(response));
  status.responded(response.status, told);
}

/** Describes an error without a response. `fetch` throws a `TypeError` if a connection fails (Fetch §5.6). */
const messageOf = (/** @type {unknown} */ error) =>
  error instanceof TypeError ? 'The service does not respond.' : String(error);

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
      if (!sent.has('accept')) sent.set('accept', 'application/json');
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
