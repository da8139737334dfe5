import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Backlog, EventStream, Frame, Sink } from '../../engine/events/event-stream.ts';
import type { Reservation } from '../../platform/fairness/response-memory.ts';

/** A reader that lags must have taken 256 KiB within this time, again and again. */
export const DRAIN_LIMIT_MS = 10_000;

export interface StreamSending {
  readonly drainLimitMs: number;
  /** Called if the reader was too slow. */
  readonly onCutOff: () => void;
}

/**
 * Writes an event stream to a socket. Frames go past the response object, which would frame and copy each of
 * them again for every reader.
 */
class SocketSink implements Sink {
  readonly #outgoing: ServerResponse;
  readonly #sending: StreamSending;
  readonly #reservation: Reservation;
  /** Set once the response has the socket to itself: a pipelined one waits for those before it. */
  #socket: Socket | undefined;
  /** Set while what waits is counted. */
  #backlog: { readonly sharers: number; end(): void } | undefined;

  constructor(outgoing: ServerResponse, sending: StreamSending, reservation: Reservation) {
    this.#outgoing = outgoing;
    this.#sending = sending;
    this.#reservation = reservation;
  }

  write({ bytes, chunk }: Frame): number {
    const outgoing = this.#outgoing;
    const socket = this.#socket ?? this.#ownSocket();
    if (socket === undefined) outgoing.write(bytes);
    else socket.write(chunk);
    this.#count();
    return outgoing.writableLength;
  }

  /** The socket, if all that the response has written so far has been handed to it. */
  #ownSocket(): Socket | undefined {
    const { socket, chunkedEncoding, headersSent, writableLength } = this.#outgoing;
    if (socket == null || !chunkedEncoding || !headersSent) return undefined;
    // What the response holds back itself must go first.
    if (writableLength !== socket.writableLength) return undefined;
    this.#socket = socket;
    return socket;
  }

  whenDrained({ sharers, limited }: Backlog, onDrained: () => void): void {
    this.#backlog?.end();
    const outgoing = this.#outgoing;
    const emitter = this.#socket ?? outgoing;
    const remaining = () => outgoing.writableLength;
    const { drainLimitMs, onCutOff } = this.#sending;
    const release = this.#reservation.waitFor({
      remaining,
      windowMs: limited ? drainLimitMs : undefined,
      cutOff() {
        onCutOff();
        end();
        outgoing.destroy();
      },
    });
    const end = () => {
      this.#backlog = undefined;
      release();
      emitter.off('drain', drained);
      outgoing.off('close', end);
    };
    const drained = () => {
      end();
      onDrained();
    };
    emitter.once('drain', drained);
    outgoing.once('close', end);
    this.#backlog = { sharers, end };
    this.#count();
  }

  /** Frames that wait for several readers are in memory once. */
  #count(): void {
    if (this.#backlog === undefined) return;
    this.#reservation.resize(Math.ceil(this.#outgoing.writableLength / this.#backlog.sharers));
  }

  end({ bytes }: Frame): void {
    this.#outgoing.end(bytes);
  }

  breakOff(): void {
    this.#outgoing.destroy();
  }
}

/** Sends the headers of a response and its event stream, the start of both in one packet. */
export function sendStream(
  stream: EventStream,
  outgoing: ServerResponse,
  sending: StreamSending,
  reservation: Reservation,
): void {
  const { socket } = outgoing;
  socket?.cork();
  outgoing.flushHeaders();
  stream.attach(new SocketSink(outgoing, sending, reservation));
  socket?.uncork();
}
