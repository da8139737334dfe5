import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Take = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** A connection, and the requests that wait for the one before them. */
interface Turns {
  busy: boolean;
  waiting: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }[] | undefined;
}

/**
 * Takes one request of a connection at a time, and reads no more from a connection on which another is waiting:
 * otherwise a client that sends thousands at once (RFC 9112 section 9.3.2) has them all taken before anybody else's next
 * one. Browsers send none so.
 */
export function onePerConnection(take: Take): Take {
  const connections = new WeakMap<Socket, Turns>();

  function begin(turns: Turns, incoming: IncomingMessage, outgoing: ServerResponse): void {
    turns.busy = true;
    outgoing.on('close', ended);
    take(incoming, outgoing);
  }

  function ended(this: ServerResponse): void {
    const { socket } = this.req;
    const turns = connections.get(socket);
    if (turns === undefined) return;
    turns.busy = false;
    const next = turns.waiting?.shift();
    if (socket.destroyed || turns.waiting === undefined) return;
    if (next === undefined) {
      turns.waiting = undefined;
      socket.resume();
      return;
    }
    turns.busy = true;
    // Other connections come first.
    setImmediate(() => {
      if (!socket.destroyed) begin(turns, next.incoming, next.outgoing);
    });
  }

  return (incoming, outgoing) => {
    const { socket } = incoming;
    let turns = connections.get(socket);
    if (turns === undefined) {
      turns = { busy: false, waiting: undefined };
      connections.set(socket, turns);
    }
    if (!turns.busy) return begin(turns, incoming, outgoing);
    turns.waiting ??= [];
    turns.waiting.push({ incoming, outgoing });
    socket.pause();
    return undefined;
  };
}
