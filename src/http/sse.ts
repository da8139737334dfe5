import type { ExecutionResult } from 'graphql';
import type { Logger } from '../platform/log.ts';
import { stringifyResult } from './result.ts';

const KEEP_ALIVE_MS = 12_000;
const RETRY_MS = 1_000;
const encoder = new TextEncoder();

const COMMENT = encoder.encode(':\n\n');
const RETRY = encoder.encode(`retry: ${RETRY_MS}\n\n`);
const COMPLETE = encoder.encode('event: complete\ndata:\n\n');

export interface EventStreamOptions {
  readonly log: Logger;
  readonly shutdown: AbortSignal;
  /** Aborted when the stream has ended, whoever ended it. */
  readonly stop: AbortController;
}

/**
 * Results as Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. A result is asked
 * for only when the reader has room for it. Where the results fail, and when the service goes down, the stream ends
 * without `complete`: a client comes back then.
 */
export function eventStream(
  results: AsyncIterable<ExecutionResult>,
  { log, shutdown, stop }: EventStreamOptions,
): Response {
  const iterator = results[Symbol.asyncIterator]();
  let keepAlive: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(RETRY);
      keepAlive = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(COMMENT);
      }, KEEP_ALIVE_MS).unref();
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (stop.signal.aborted) return;
        if (!done)
          return controller.enqueue(encoder.encode(`event: next\ndata: ${stringifyResult(value)}\n\n`));
        controller.enqueue(shutdown.aborted ? RETRY : COMPLETE);
        controller.close();
      } catch (error) {
        log.warn({ err: error }, 'an event stream broke off');
        controller.error(error);
      }
      clearInterval(keepAlive);
      stop.abort();
    },
    async cancel() {
      clearInterval(keepAlive);
      stop.abort();
      await iterator.return?.();
    },
  });
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  });
}
