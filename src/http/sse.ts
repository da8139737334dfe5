import type { ExecutionResult } from 'graphql';
import type { Logger } from '../platform/log.ts';
import { stringifyResult } from './result.ts';
import { eventIdOf } from './subscription.ts';

/** The contract promises a line every 15 seconds. */
const KEEP_ALIVE_MS = 12_000;
const RETRY_MS = 1_000;
const encoder = new TextEncoder();

const COMMENT = encoder.encode(':\n\n');
const COMPLETE = encoder.encode('event: complete\ndata:\n\n');

/** A block without data: EventSource takes its id and its retry time and fires no event (HTML section 9.2.6). */
function opening(id: string | undefined): Uint8Array {
  return encoder.encode(`retry: ${RETRY_MS}\n${id === undefined ? '' : `id: ${id}\n`}\n`);
}

function nextFrame(result: ExecutionResult): Uint8Array {
  const id = eventIdOf(result);
  return encoder.encode(
    `${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${stringifyResult(result)}\n\n`,
  );
}

export interface EventStreamOptions {
  readonly log: Logger;
  readonly shutdown: AbortSignal;
  /** Aborted when the stream has ended, whoever ended it. */
  readonly stop: AbortController;
  /** The id of the position that the stream starts at. */
  readonly startId: string | undefined;
}

/**
 * Results as Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. A result is asked
 * for only when the reader has room for it. Where the results fail, and when the service goes down, the stream ends
 * without `complete`: a client comes back then.
 */
export function eventStream(
  results: AsyncIterable<ExecutionResult>,
  { log, shutdown, stop, startId }: EventStreamOptions,
): Response {
  const iterator = results[Symbol.asyncIterator]();
  let keepAlive: NodeJS.Timeout | undefined;
  const end = () => {
    clearInterval(keepAlive);
    stop.abort();
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(opening(startId));
      keepAlive = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(COMMENT);
      }, KEEP_ALIVE_MS).unref();
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (stop.signal.aborted) return;
        if (!done) return controller.enqueue(nextFrame(value));
        controller.enqueue(shutdown.aborted ? opening(undefined) : COMPLETE);
        controller.close();
      } catch (error) {
        log.warn({ err: error }, 'an event stream broke off');
        controller.error(error);
      }
      end();
    },
    async cancel() {
      end();
      await iterator.return?.();
    },
  });
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // nginx holds responses back by default; without this the events would come in lumps.
      'x-accel-buffering': 'no',
    },
  });
}
