import type { Clock } from './clock.ts';
import { ContentGraphError } from './errors.ts';
import { linkSignals } from './platform.ts';
import { createSseParser, type SseBlock } from './sse-parser.ts';

/** One connection of an event stream. */
export interface StreamRequest {
  /** Sends the request. */
  send(signal: AbortSignal): Promise<Response>;
  /** Creates the error of a response that is no event stream. */
  rejectResponse(response: Response): Promise<ContentGraphError>;
  readonly signal: AbortSignal;
  /** A connection without a byte for this time is dead. */
  readonly silenceMs: number;
  readonly clock: Clock;
}

/** Two heartbeats of 12 s and a little more. */
export const SILENCE_MS = 26_000;
/** How often silence is measured. A sleeping machine is noticed this soon after it wakes. */
const WATCH_INTERVAL_MS = 2_000;

export const isEventStream = (response: Response): boolean =>
  response.ok && response.headers.get('content-type')?.startsWith('text/event-stream') === true;

/** Calls back when a read is pending for too long. */
export interface SilenceWatch {
  during<Result>(read: Promise<Result>): Promise<Result>;
  stop(): void;
}

/** Measures how long a read is pending. While no read is pending, a connection is not silent. */
export function watchSilence(clock: Clock, silenceMs: number, onSilence: () => void): SilenceWatch {
  let pendingSinceMs: number | undefined;
  let cancelTimer = () => {};
  // The time of day advances while the machine sleeps, and timers do not.
  const check = () => {
    if (pendingSinceMs !== undefined && clock.nowMs() - pendingSinceMs > silenceMs) return onSilence();
    cancelTimer = clock.setTimer(check, WATCH_INTERVAL_MS);
  };
  check();
  return {
    async during(read) {
      pendingSinceMs = clock.nowMs();
      try {
        return await read;
      } finally {
        pendingSinceMs = undefined;
      }
    },
    stop: () => cancelTimer(),
  };
}

/**
 * Opens a connection and yields its blocks. Nothing is read ahead of the caller, so a slow caller leaves the rest in the
 * socket. Returns when the connection is closed.
 * @throws {ContentGraphError} if there is no stream, or the connection breaks or is silent
 */
export async function* readBlocks(request: StreamRequest): AsyncGenerator<SseBlock, void, void> {
  const { clock, silenceMs } = request;
  const link = linkSignals(request.signal);
  let isSilent = false;
  let hasResponse = false;
  const watch = watchSilence(clock, silenceMs, () => {
    isSilent = true;
    link.abort();
  });
  try {
    const response = await watch.during(request.send(link.signal));
    if (!isEventStream(response)) throw await watch.during(request.rejectResponse(response));
    hasResponse = true;
    const reader = response.body?.getReader();
    if (reader === undefined)
      throw new ContentGraphError(
        'STREAMS_UNSUPPORTED',
        'This fetch cannot read a response as it arrives. Use another fetch, or followByEventSource.',
      );
    const decoder = new TextDecoder();
    const parse = createSseParser();
    for (;;) {
      const { done, value } = await watch.during(reader.read());
      if (done) return;
      yield* parse(decoder.decode(value, { stream: true }));
    }
  } catch (error) {
    if (error instanceof ContentGraphError) throw error;
    const silence = `No byte came for ${silenceMs} ms.${hasResponse ? '' : ' A proxy that compresses or buffers event streams has this effect.'}`;
    const message = isSilent ? silence : 'The connection of the event stream broke.';
    throw new ContentGraphError('NETWORK_ERROR', message, { cause: error });
  } finally {
    watch.stop();
    link.abort();
    link.unlink();
  }
}
