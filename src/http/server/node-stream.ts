import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Backlog, EventStream, Frame, Sink } from '../../engine/events/event-stream.ts';
import type { Reservation } from '../../platform/fairness/response-memory.ts';

/** A lagging reader must take 256 KiB within each such period. */
export const DRAIN_LIMIT_MS = 10_000;

export interface StreamSending {
  readonly drainLimitMs: number;
  readonly onCutOff: () => void;
}

/** Frames bypass the response object, which would frame and copy each frame again for every reader. */
class SocketSink implements Sink {
  readonly #outgoing: ServerResponse;
  readonly #sending: StreamSending;
  readonly #reservation: Reservation;
  /** Set once the response has the socket exclusively, because a pipelined response waits for earlier responses. */
  #socket: Socket | undefined;
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

  /** Returns the socket if all previous output of the response was handed to it. */
  #ownSocket(): Socket | undefined {
    const { socket, chunkedEncoding, headersSent, writableLength } = this.#outgoing;
    if (socket == null || !chunkedEncoding || !headersSent) return undefined;
    // Output that the response still buffers must be sent first.
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

/** The headers and the start of the event stream share one packet. */
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
