import { connect } from 'node:net';
import { within } from '../harness/within.ts';

const LIMIT_MS = 10_000;
const FRAME = /id: .+\nevent: next\ndata: .+\n\n/;

/** An event as the service sends it, without the framing of HTTP. `write` makes it, once the stream is open. */
export async function frameOf(port: number, request: Buffer, write: () => Promise<unknown>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(port, '127.0.0.1');
  let text = '';
  let written = false;
  socket.on('error', reject);
  socket.on('data', (part: Buffer) => {
    text += part.toString('latin1');
    if (!written && text.includes('\n\n')) {
      written = true;
      write().catch(reject);
    }
    const [frame] = FRAME.exec(text) ?? [];
    if (frame !== undefined) resolve(frame);
  });
  socket.write(request);
  try {
    return await within(
      LIMIT_MS,
      () => `no event has arrived, but ${JSON.stringify(text.slice(0, 500))}`,
      promise,
    );
  } finally {
    socket.destroy();
  }
}
