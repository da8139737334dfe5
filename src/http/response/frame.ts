import type { Frame } from '../../request/event-stream.ts';

const CHUNK_END = Buffer.from('\r\n');

/** A frame, as bytes that lie between the head and the end of a chunk (RFC 9112 section 7.1). */
export function frame(text: string): Frame {
  const bytes = Buffer.byteLength(text);
  const head = `${bytes.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafeSlow(head.length + bytes + CHUNK_END.length);
  chunk.write(head, 'latin1');
  chunk.write(text, head.length, 'utf8');
  CHUNK_END.copy(chunk, head.length + bytes);
  return { bytes: chunk.subarray(head.length, head.length + bytes), chunk };
}
