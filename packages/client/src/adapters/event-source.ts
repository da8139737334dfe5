import type { Client } from '../client.ts';
import { type Document, serializeDocument } from '../documents.ts';
import { ContentGraphError } from '../errors.ts';
import { findInternals } from '../internals.ts';
import { type EventSourceConstructor, globals } from '../platform.ts';
import { createResponseError, type Payload, readPayload } from '../responses.ts';
import type { SseBlock } from '../sse-parser.ts';
import { watchSilence } from '../stream-connection.ts';
import { openSubscription, type StreamOptions, type Subscription } from '../subscription.ts';

export type { EventSourceConstructor, EventSourceLike } from '../platform.ts';

/** Options of `followByEventSource`. */
export interface EventSourceOptions extends StreamOptions {
  /** `cookie` sends the session cookie. `token` exchanges the credentials of the client for a stream token first. */
  readonly by: 'cookie' | 'token';
  /** The global class by default. */
  readonly EventSource?: EventSourceConstructor | undefined;
}

interface StreamTokenPayload extends Payload<never> {
  readonly token?: string;
}

/** A queue of blocks: an `EventSource` cannot be told to wait. */
function createBlockQueue() {
  const blocks: (SseBlock | Error)[] = [];
  let notify = () => {};
  return {
    push(block: SseBlock | Error): void {
      blocks.push(block);
      notify();
    },
    async next(): Promise<SseBlock> {
      while (blocks.length === 0)
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      const [block = new Error('The queue is empty.')] = blocks.splice(0, 1);
      if (block instanceof Error) throw block;
      return block;
    },
  };
}

/**
 * Follows a subscription by `EventSource`, where `fetch` cannot read a response as it arrives. Events wait in memory while
 * the loop is busy.
 */
export function followByEventSource<Data, Variables>(
  client: Client,
  document: Document<Data, Variables>,
  variables: Variables,
  options: EventSourceOptions,
): Subscription<Data> {
  const internals = findInternals(client);
  const { attempts, clock, transport } = internals;
  const { by, EventSource: Source = globals.EventSource } = options;
  const { query, documentId } = serializeDocument(document);
  const operation = documentId === undefined ? { query, variables } : { documentId, variables };

  async function findParameters(signal: AbortSignal): Promise<Record<string, string>> {
    if (by === 'cookie')
      return {
        ...(documentId === undefined ? { query: query ?? '' } : { documentId }),
        variables: JSON.stringify(variables),
      };
    const url = `${transport.url}/stream-token`;
    const fields = { accept: 'application/json', 'content-type': 'application/json' };
    return attempts.run(signal, async (limit) => {
      const init = { method: 'POST', body: JSON.stringify(operation), signal: limit };
      const response = await transport.send(url, init, fields);
      const payload: StreamTokenPayload = await readPayload<never>(response);
      if (payload.token === undefined) throw createResponseError(response, payload, clock.nowMs());
      return { stream_token: payload.token };
    });
  }

  /** An `EventSource` does not tell the status of a response. */
  async function findFailure(): Promise<ContentGraphError> {
    const viewer = by === 'cookie' ? await client.session.getViewer().catch(() => undefined) : undefined;
    return viewer === null
      ? new ContentGraphError('UNAUTHENTICATED', 'There is no session.')
      : new ContentGraphError('NETWORK_ERROR', 'The connection of the event stream broke.');
  }

  async function* readBlocks(
    position: string | undefined,
    signal: AbortSignal,
    silenceMs: number,
  ): AsyncGenerator<SseBlock, void, void> {
    if (Source === undefined)
      throw new ContentGraphError(
        'STREAMS_UNSUPPORTED',
        'There is no EventSource. Pass a class as an option.',
      );
    const parameters = new URLSearchParams(await findParameters(signal));
    // Heartbeats that are events show that the connection works, and move the position.
    parameters.set('heartbeat', 'visible');
    if (position !== undefined) parameters.set('lastEventId', position);
    const queue = createBlockQueue();
    const source = new Source(`${transport.url}?${parameters}`, { withCredentials: by === 'cookie' });
    const watch = watchSilence(clock, silenceMs, () => queue.push(new Error('silence')));
    const onAbort = () => queue.push(new Error('aborted'));
    signal.addEventListener('abort', onAbort);
    const listen = (event: string) =>
      source.addEventListener(event, ({ data, lastEventId }) =>
        queue.push({ event, data: String(data), ...(lastEventId && { id: lastEventId }) }),
      );
    for (const event of ['next', 'complete', 'heartbeat']) listen(event);
    source.addEventListener('open', () => queue.push(position === undefined ? {} : { id: position }));
    source.addEventListener('error', () => queue.push(new Error('broken')));
    try {
      for (;;) yield await watch.during(queue.next());
    } catch (error) {
      if (error instanceof ContentGraphError) throw error;
      throw await findFailure();
    } finally {
      watch.stop();
      signal.removeEventListener('abort', onAbort);
      source.close();
    }
  }

  return openSubscription(internals, readBlocks, options);
}
