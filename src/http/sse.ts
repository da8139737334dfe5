import type { ExecutionResult } from 'graphql';
import { eventIdOf, interruptionOf } from './subscription.ts';

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

/** A line break ends a field (HTML section 9.2.6). In JSON it is white space between tokens, or it is escaped. */
function onOneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, '') : json;
}

function nextFrame(result: ExecutionResult, text: string): Uint8Array {
  const id = eventIdOf(result);
  return encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${onOneLine(text)}\n\n`);
}

export interface EventStreamOptions {
  /** Aborted when the stream has ended, whoever ended it; ends the stream when somebody else aborts it. */
  readonly stop: AbortController;
  /** The id of the position that the stream starts at. */
  readonly startId: string | undefined;
  /** A result as the JSON that goes out. */
  readonly toText: (result: ExecutionResult) => string;
  /** A comment goes out as often as that. */
  readonly keepAliveMs?: number;
}

/**
 * Results as Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. A result is asked
 * for only when the reader has room for it. Where the results fail, and where the service goes down, the stream ends
 * without `complete`: a client comes back then.
 */
export function eventStream(
  results: AsyncIterable<ExecutionResult>,
  { stop, startId, toText, keepAliveMs = KEEP_ALIVE_MS }: EventStreamOptions,
): Response {
  const iterator = results[Symbol.asyncIterator]();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(opening(startId));
      if (stop.signal.aborted) return;
      const keepAlive = setInterval(() => {
        if ((controller.desiredSize ?? 0) > 0) controller.enqueue(COMMENT);
      }, keepAliveMs).unref();
      stop.signal.addEventListener('abort', () => clearInterval(keepAlive), { once: true });
    },
    async pull(controller) {
      const { done, value } = await iterator.next();
      if (stop.signal.aborted) return;
      const interruption = done ? undefined : interruptionOf(value);
      if (!done && interruption === undefined) return controller.enqueue(nextFrame(value, toText(value)));
      if (interruption === 'failure') controller.error(new Error('the event stream broke off'));
      else {
        controller.enqueue(interruption === undefined ? COMPLETE : opening(undefined));
        controller.close();
      }
      stop.abort();
    },
    async cancel() {
      stop.abort();
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
