import { timingSafeEqual } from 'node:crypto';
import { protocolMessage, reportMessage } from './protocol.ts';

type Send = (data: Uint8Array) => void;

/** AuthenticationCleartextPassword. Acceptable because it only crosses loopback. */
const ASK = protocolMessage('R', Buffer.from([0, 0, 0, 3]));
const REFUSAL = reportMessage({ severity: 'FATAL', state: '28P01', text: 'password authentication failed' });

/** The part of the socket server's message queue that withholds messages. */
interface Queue {
  enqueue(id: number, message: Uint8Array, send: Send): Promise<number>;
  clearQueueForHandler(id: number): void;
}

/** Compares in constant time. */
function isPassword(answer: Uint8Array, password: string): boolean {
  const expected = protocolMessage('p', Buffer.from(`${password}\0`));
  return answer.length === expected.length && timingSafeEqual(answer, expected);
}

/**
 * PGlite admits everyone. This withholds a connection's first message from the queue until the client has
 * given the password (PostgreSQL protocol, "Start-up").
 */
export function requirePassword(queue: Queue, password: string): void {
  const enqueue = queue.enqueue.bind(queue);
  const clear = queue.clearQueueForHandler.bind(queue);
  const asked = new Map<number, Uint8Array>();
  const admitted = new Set<number>();

  queue.enqueue = async (id, incoming, send) => {
    if (admitted.has(id)) return enqueue(id, incoming, send);
    const startup = asked.get(id);
    if (startup === undefined) {
      asked.set(id, incoming);
      send(ASK);
      return ASK.length;
    }
    if (!isPassword(incoming, password)) {
      send(REFUSAL);
      throw new Error('password authentication failed');
    }
    asked.delete(id);
    admitted.add(id);
    return enqueue(id, startup, send);
  };
  queue.clearQueueForHandler = (id) => {
    asked.delete(id);
    admitted.delete(id);
    clear(id);
  };
}
