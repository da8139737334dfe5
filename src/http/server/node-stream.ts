import type { ServerResponse } from 'node:http';
import { type Hold, UNCOUNTED_BYTES } from '../../request/pending-responses.ts';

/** How much may be buffered for a reader in this process. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** A reader with that much buffered must have drained it all within this time. */
export const DRAIN_LIMIT_MS = 10_000;

export interface StreamSending {
  readonly drainLimitMs: number;
  /** Called if the reader was too slow. */
  readonly onCutOff: () => void;
}

/**
 * Counts what is buffered for a stream's reader, and cuts the reader off if others need the room. Returns a
 * function that recounts.
 */
function countWaiting(outgoing: ServerResponse, hold: Hold, cutOff: () => void): () => void {
  let end: (() => void) | undefined;
  const done = () => {
    end?.();
    end = undefined;
  };
  outgoing.on('drain', done);
  outgoing.once('close', done);
  return () => {
    const bytes = outgoing.writableLength;
    if (bytes <= UNCOUNTED_BYTES) {
      done();
      return;
    }
    hold.resize(bytes);
    end ??= hold.waitFor({
      remaining: () => outgoing.writableLength,
      cutOff() {
        done();
        cutOff();
      },
    });
  };
}

/** Resolves to false if the reader has not caught up in time. */
function drained(outgoing: ServerResponse, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (caughtUp: boolean) => {
      clearTimeout(timer);
      outgoing.off('drain', onDrain);
      outgoing.off('close', onDrain);
      resolve(caughtUp);
    };
    const onDrain = () => settle(true);
    const timer = setTimeout(() => settle(false), limitMs).unref();
    outgoing.once('drain', onDrain);
    outgoing.once('close', onDrain);
  });
}

/**
 * Writes a stream. Unread output is buffered up to a bound. Beyond it nothing more is pulled, and a reader
 * that does not catch up in time is cut off. An event stream client reconnects with its last id.
 */
export async function sendStream(
  stream: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
  { drainLimitMs, onCutOff }: StreamSending,
  hold: Hold,
): Promise<void> {
  const reader = stream.getReader();
  outgoing.once('close', () => void reader.cancel().catch(() => undefined));
  outgoing.flushHeaders();
  const cutOff = () => {
    onCutOff();
    outgoing.destroy();
  };
  const count = countWaiting(outgoing, hold, cutOff);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    outgoing.write(value);
    count();
    if (outgoing.writableLength <= MAX_BUFFERED_BYTES || (await drained(outgoing, drainLimitMs))) continue;
    cutOff();
    return;
  }
  outgoing.end();
}
