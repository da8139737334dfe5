import { timingSafeEqual } from 'node:crypto';
import type { MessageQueue } from './message-batches.ts';

/** A protocol message: type, length, body. */
function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + length.length);
  return Buffer.concat([Buffer.from(type), length, body]);
}

/** AuthenticationCleartextPassword. Acceptable because it only crosses loopback. */
const ASK = message('R', Buffer.from([0, 0, 0, 3]));
const REFUSAL = message('E', Buffer.from('SFATAL\0C28P01\0Mpassword authentication failed\0\0'));

/** Compares in constant time. */
function isPassword(answer: Uint8Array, password: string): boolean {
  const expected = message('p', Buffer.from(`${password}\0`));
  return answer.length === expected.length && timingSafeEqual(answer, expected);
}

/**
 * PGlite admits everyone. This withholds a connection's first message from the queue until the client has
 * given the password (PostgreSQL protocol, "Start-up").
 */
export function requirePassword(queue: MessageQueue, password: string): void {
  const enqueue = queue.enqueue.bind(queue);
  const clear = queue.clearQueueForHandler.bind(queue);
  const asked = new Map<number, Uint8Array>();
  const admitted = new Set<number>();

  queue.enqueue = async (handlerId, incoming, onData) => {
    if (admitted.has(handlerId)) return enqueue(handlerId, incoming, onData);
    const startup = asked.get(handlerId);
    if (startup === undefined) {
      asked.set(handlerId, incoming);
      onData(ASK);
      return ASK.length;
    }
    if (!isPassword(incoming, password)) {
      onData(REFUSAL);
      throw new Error('password authentication failed');
    }
    asked.delete(handlerId);
    admitted.add(handlerId);
    return enqueue(handlerId, startup, onData);
  };
  queue.clearQueueForHandler = (handlerId) => {
    asked.delete(handlerId);
    admitted.delete(handlerId);
    clear(handlerId);
  };
}
