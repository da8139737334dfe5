import { type Single, type StreamEvent, StreamInterruption } from '../../operation/outcome.ts';

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

function nextFrame(id: string | undefined, text: string): Uint8Array {
  return encoder.encode(`${id === undefined ? '' : `id: ${id}\n`}event: next\ndata: ${onOneLine(text)}\n\n`);
}

export interface EventStreamOptions {
  /** Aborted when the stream has ended, whoever ended it; ends the stream when somebody else aborts it. */
  readonly stop: AbortController;
  /** The id of the position that the stream starts at. */
  readonly startId: string | undefined;
  /** An outcome as the JSON that goes out. */
  readonly toText: (outcome: Single) => string;
  /** A comment goes out as often as that. */
  readonly keepAliveMs?: number;
}

/**
 * Server-Sent Events in the "distinct connections" mode of the GraphQL-over-SSE protocol. An event is asked for only
 * when the reader has room for it. An interrupted stream ends without `complete`: a client comes back then.
 */
export function eventStream(
  events: AsyncGenerator<StreamEvent, void, undefined>,
  { stop, startId, toText, keepAliveMs = KEEP_ALIVE_MS }: EventStreamOptions,
): Response {
  /** The frame of the next event, and whether it is the last. Throws StreamInterruption where the stream failed. */
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
        // Where it was not the events that failed, nobody asks for another one.
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
      // nginx holds responses back by default; without this the events would come in lumps.
      'x-accel-buffering': 'no',
    },
  });
}
