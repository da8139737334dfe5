import { type Single, type StreamEvent, StreamInterruption } from '../../operation/outcome.ts';

/** The contract promises a line at least every 15 seconds. */
const KEEP_ALIVE_MS = 12_000;
const RETRY_MS = 1_000;
const encoder = new TextEncoder();

const COMMENT = encoder.encode(':\n\n');
const COMPLETE = encoder.encode('event: complete\ndata:\n\n');

/** A block without data: EventSource takes its id and retry time but fires no event (HTML section 9.2.6). */
function opening(id: string | undefined): Uint8Array {
  return encoder.encode(`retry: ${RETRY_MS}\n${id === undefined ? '' : `id: ${id}\n`}\n`);
}

/**
 * Line breaks end a field (HTML section 9.2.6). Unescaped ones in JSON are only whitespace between tokens.
 */
function onOneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, '') : json;
}

function nextFrame(id: string | undefined, text: string): Uint8Array {
  return encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${onOneLine(text)}\n\n`);
}

export interface EventStreamOptions {
  /** Aborted once the stream has ended. Aborting it from outside ends the stream. */
  readonly stop: AbortController;
  /** Id of the position at which the stream starts. */
  readonly startId: string | undefined;
  /** Serialises an outcome as JSON. */
  readonly toText: (outcome: Single) => string;
  /** Interval of the keep-alive comments. */
  readonly keepAliveMs?: number;
}

/**
 * Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. The next event is
 * requested only when the reader has room for it. An interrupted stream ends without `complete`, so that the
 * client reconnects.
 */
export function eventStream(
  events: AsyncGenerator<StreamEvent, void, undefined>,
  { stop, startId, toText, keepAliveMs = KEEP_ALIVE_MS }: EventStreamOptions,
): Response {
  /** The next frame, and whether it is the last. Throws StreamInterruption if the stream failed. */
  async function nextOrLast(): Promise<{ readonly frame: Uint8Array; readonly last: boolean }> {
    try {
      const { done, value } = await events.next();
      if (done) return { frame: COMPLETE, last: true };
      return { frame: nextFrame(value.id, toText(value.outcome)), last: false };
    } catch (error) {
      if (error instanceof StreamInterruption && error.reason === 'shutdown')
        return { frame: opening(undefined), last: true };
      throw error;
    }
  }

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
      try {
        const { frame, last } = await nextOrLast();
        if (stop.signal.aborted) return;
        controller.enqueue(frame);
        if (!last) return;
        controller.close();
      } catch (error) {
        if (stop.signal.aborted) return;
        controller.error(error);
        // If something else failed, the generator is still open.
        await events.return();
      }
      stop.abort();
    },
    async cancel() {
      stop.abort();
      await events.return();
    },
  });
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // nginx buffers responses by default, which would delay events.
      'x-accel-buffering': 'no',
    },
  });
}
