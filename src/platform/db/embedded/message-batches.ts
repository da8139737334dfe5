/**
 * PGlite is one backend behind all connections, and the socket server passes it one protocol message at a
 * time. The messages of an extended query share the backend's unnamed statement and portal until Sync
 * (PostgreSQL protocol, "Extended Query"). If those of two connections were interleaved, one could run with
 * the other's parameters, or wait for ever for an answer that the other's error has skipped.
 */

/** The part of the socket server's message queue that is used here. */
export interface MessageQueue {
  /** Resolves with the number of bytes in the answer. */
  enqueue(handlerId: number, message: Uint8Array, onData: (data: Uint8Array) => void): Promise<number>;
  /** Drops the queued messages of a closed connection. */
  clearQueueForHandler(handlerId: number): void;
}

/** Parse, Bind, Describe, Execute and Close: held until the Sync that ends their batch. */
const HELD = new Set([...'PBDEC'].map((letter) => letter.charCodeAt(0)));

/** Passes each extended query on as one message. Closing the connection drops an incomplete batch. */
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
