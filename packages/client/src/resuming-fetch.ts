import type { Client } from './client.ts';
import { ContentGraphError } from './errors.ts';
import { findInternals } from './internals.ts';
import { linkSignals } from './platform.ts';
import { createReconnection, isReconnectable } from './reconnect.ts';
import { createResponseError, readPayload } from './responses.ts';
import type { SseBlock } from './sse-parser.ts';
import { isEventStream, readBlocks, SILENCE_MS } from './stream-connection.ts';
import type { StreamState } from './stream-state.ts';

/** Clients accept JSON for queries and mutations, and event streams alone for subscriptions. */
function acceptsOnlyStreams(headers: Headers): boolean {
  const accept = headers.get('accept') ?? '';
  return accept.includes('text/event-stream') && !accept.includes('json');
}

const formatField = (name: string, value: string | undefined): string =>
  value === undefined
    ? ''
    : value
        .split('\n')
        .map((line) => `${name}: ${line}\n`)
        .join('');

function formatBlock({ id, event, retry, data }: SseBlock): string {
  return `${formatField('retry', retry)}${formatField('id', id)}${formatField('event', event)}${formatField('data', data)}\n`;
}

/** A response that ends the attempts: the caller gets it as it is. */
class FinalResponse extends ContentGraphError {
  readonly response: Response;

  constructor(error: ContentGraphError, response: Response) {
    super(error.code, error.message, { httpStatus: error.httpStatus, errors: error.errors });
    this.response = response;
  }
}

/**
 * Creates a `fetch` for libraries that take one: event streams resume, requests with `Idempotency-Key` are repeated, and
 * other requests are sent once.
 */
export function createResumingFetch(client: Client): typeof fetch {
  const { attempts, clock, activity, states, policy, lifetime, transport } = findInternals(client);
  const { fetch: sendRequest } = transport;

  /** Opens an event stream that does not break. Resolves when the first connection is open. */
  async function fetchStream(
    input: Parameters<typeof fetch>[0],
    init: RequestInit,
    headers: Headers,
  ): Promise<Response> {
    const link = linkSignals(init.signal ?? undefined, lifetime);
    const { signal } = link;
    const identity = {};
    const setState = (state: StreamState) => states.set(identity, state);
    const reconnection = createReconnection(clock, activity, setState);
    let wasLive = false;

    function openConnection(onResponse: (response: Response) => void): AsyncGenerator<SseBlock, void, void> {
      return readBlocks({
        async send(limit) {
          const response = await sendRequest(input, { ...init, headers, signal: limit });
          if (isEventStream(response)) onResponse(response);
          return response;
        },
        async rejectResponse(response) {
          const copy = response.clone();
          const error = createResponseError(response, await readPayload(response), clock.nowMs());
          return isReconnectable(error) && error.httpStatus !== 401 ? error : new FinalResponse(error, copy);
        },
        signal,
        silenceMs: SILENCE_MS,
        clock,
      });
    }

    async function* readAll(onResponse: (response: Response) => void): AsyncGenerator<string, void, void> {
      while (!signal.aborted) {
        try {
          for await (const block of openConnection(onResponse)) {
            if (block.retry !== undefined) reconnection.setBase(block.retry);
            if (block.id !== undefined || block.event !== undefined) {
              reconnection.reset();
              setState({ status: 'live', since: wasLive ? 'resumed' : 'opened' });
              wasLive = true;
            }
            yield formatBlock(block);
            if (block.event === 'complete') return;
            if (block.id !== undefined) headers.set('last-event-id', block.id);
          }
          throw new ContentGraphError('NETWORK_ERROR', 'The event stream ended early.');
        } catch (error) {
          signal.throwIfAborted();
          if (!(error instanceof ContentGraphError) || error instanceof FinalResponse) throw error;
          if (!isReconnectable(error)) throw error;
          await reconnection.pause(error, signal);
        }
      }
      signal.throwIfAborted();
    }

    setState({ status: 'connecting' });
    let opened: Response | undefined;
    const blocks = readAll((response) => {
      opened ??= response;
    });
    const encoder = new TextEncoder();
    const close = (error?: ContentGraphError) => {
      setState({ status: 'closed', error });
      link.unlink();
    };
    try {
      const first = await blocks.next();
      let pending = first.done === true ? '' : first.value;
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            try {
              const text = pending;
              pending = '';
              const { done, value } = text === '' ? await blocks.next() : { done: false, value: text };
              if (done !== true && value !== undefined) return controller.enqueue(encoder.encode(value));
              close();
              controller.close();
            } catch (error) {
              close(error instanceof ContentGraphError ? error : undefined);
              throw error;
            }
          },
          async cancel() {
            close();
            link.abort();
            await blocks.return();
          },
        },
        { highWaterMark: 0 },
      );
      return new Response(body, { status: 200, headers: opened?.headers ?? {} });
    } catch (error) {
      close(error instanceof FinalResponse ? error : undefined);
      if (error instanceof FinalResponse) return error.response;
      throw error;
    }
  }

  /** Repeats a request with a key until its outcome is known, or the time budget is spent. */
  async function fetchKeyed(
    input: Parameters<typeof fetch>[0],
    init: RequestInit,
    headers: Headers,
  ): Promise<Response> {
    let last: Response | undefined;
    const send = (signal: AbortSignal) =>
      attempts.run(signal, async (limit) => {
        last = undefined;
        const received = await sendRequest(input, { ...init, headers, signal: limit });
        // A response that breaks off counts as none.
        last = new Response(await received.text(), received);
        if (last.ok) return last;
        const error = createResponseError(last, await readPayload(last.clone()), clock.nowMs());
        if (error.isRetryable) throw error;
        return last;
      });
    try {
      return await attempts.repeat(send, policy.mutationBudgetMs, { signal: init.signal ?? undefined });
    } catch (error) {
      if (last !== undefined && error instanceof ContentGraphError) return last;
      throw error instanceof ContentGraphError ? error.cause : error;
    }
  }

  return async (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
    if (acceptsOnlyStreams(headers)) return fetchStream(input, init, headers);
    return headers.has('idempotency-key') ? fetchKeyed(input, init, headers) : sendRequest(input, init);
  };
}
