import type { ServerResponse } from 'node:http';

/** Writes a stream as fast as the reader takes it and no faster: the next part is asked for when the last is out. */
export async function sendStream(
  stream: ReadableStream<Uint8Array>,
  outgoing: ServerResponse,
): Promise<void> {
  const reader = stream.getReader();
  const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
  outgoing.once('close', () => void reader.cancel());
  outgoing.flushHeaders();
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value))
      await Promise.race([new Promise((resolve) => outgoing.once('drain', resolve)), closed]);
  }
  outgoing.end();
}
