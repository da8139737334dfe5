import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Take = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** A connection, and the requests that wait for the one before them. */
interface Turns {
  busy: boolean;
  paused: boolean;
  readonly waiting: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse }[];
}

/** With this many waiting, reading stops. With fewer it goes on, because only a read shows that the client is gone. */
const READ_UP_TO = 16;
/** How many may wait: one read of 64 KiB can contain thousands. */
const MAX_WAITING = 1_024;

/**
 * Takes one request of a connection at a time, and stops reading from a connection on which many are waiting. Otherwise
 * thousands of pipelined requests (RFC 9112 section 9.3.2) would all come before the next request of any other client.
 * Browsers do not pipeline. A connection on which too many wait is closed.
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
    const next = turns.waiting.shift();
    if (socket.destroyed) return;
    if (turns.paused && turns.waiting.length < READ_UP_TO) {
      turns.paused = false;
      socket.resume();
    }
    if (next === undefined) return;
    turns.busy = true;
    // Other connections come first.
    setImmediate(() => {
      if (!socket.destroyed) begin(turns, next.incoming, next.outgoing);
    });
  }

  /** Not at once, because node:http resumes the socket right after it emits a request. */
  function pauseSoon(turns: Turns, socket: Socket): void {
    setImmediate(() => {
      if (turns.waiting.length < READ_UP_TO) return;
      turns.paused = true;
      socket.pause();
    });
  }

  return (incoming, outgoing) => {
    const { socket } = incoming;
    let turns = connections.get(socket);
    if (turns === undefined) {
      turns = { busy: false, paused: false, waiting: [] };
      connections.set(socket, turns);
    }
    if (!turns.busy) return begin(turns, incoming, outgoing);
    turns.waiting.push({ incoming, outgoing });
    if (turns.waiting.length === READ_UP_TO) pauseSoon(turns, socket);
    if (turns.waiting.length > MAX_WAITING) socket.destroy();
    return undefined;
  };
}
