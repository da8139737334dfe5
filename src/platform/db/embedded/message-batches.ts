/**
 * PGlite is one backend behind all connections, and the socket server hands it one protocol message at a time. The
 * messages of an extended query share the backend's unnamed statement and portal until their Sync (PostgreSQL
 * protocol, "Extended Query"), so those of two connections must not mix: one would run with the parameters of the other,
 * or wait for ever for an answer that an error of the other has skipped.
 */

/** What the socket server puts messages into, as far as it matters here. */
export interface MessageQueue {
  /** Resolves with the number of bytes answered. */
  enqueue(handlerId: number, message: Uint8Array, onData: (data: Uint8Array) => void): Promise<number>;
  /** Forgets what a connection that has closed still had waiting. */
  clearQueueForHandler(handlerId: number): void;
}

/** Parse, Bind, Describe, Execute and Close: each goes on to the Sync that ends its batch. */
const HELD = new Set([...'PBDEC'].map((letter) => letter.charCodeAt(0)));

/** Makes a queue take the messages of an extended query as one. A connection that closes on the way leaves nothing. */
export function batchExtendedQueries(queue: MessageQueue): void {
  const enqueue = queue.enqueue.bind(queue);
  const clear = queue.clearQueueForHandler.bind(queue);
  const held = new Map<number, Uint8Array[]>();

  queue.enqueue = async (handlerId, message, onData) => {
    const batch = held.get(handlerId) ?? [];
    batch.push(message);
    if (HELD.has(message[0] ?? 0)) {
      held.set(handlerId, batch);
      return 0;
    }
    held.delete(handlerId);
    return enqueue(handlerId, batch.length === 1 ? message : Buffer.concat(batch), onData);
  };
  queue.clearQueueForHandler = (handlerId) => {
    held.delete(handlerId);
    clear(handlerId);
  };
}
