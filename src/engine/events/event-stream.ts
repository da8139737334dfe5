export interface Frame {
  readonly bytes: Buffer;
  /** The bytes as one chunk of the chunked transfer coding (RFC 9112 §7.1). */
  readonly chunk: Buffer;
}

export interface EventText {
  /** The position after this event, from which a client resumes. */
  readonly id: string;
  /** The response as JSON. */
  readonly text: string;
}

export interface StreamFormat {
  /** `id` is the start position of the stream, if there is one. */
  headers(id: string | undefined): Readonly<Record<string, string>>;
  opening(id: string): Frame;
  events(events: readonly EventText[]): Frame;
  readonly heartbeat: Frame;
  /** Clients see this heartbeat as an event, with the position of the stream. */
  visibleHeartbeat(id: string): Frame;
  /** Undefined if the format sends positions only with events. */
  position(id: string): Frame | undefined;
  /** Completes the stream with a response that belongs to no event. */
  last(text: string, id: string | undefined): Frame;
  readonly completion: Frame;
  /** Ends an incomplete stream, so that the client reconnects. */
  readonly interruption: Frame;
  /** Writes a complete stream with a single response. */
  whole(text: string, id: string | undefined): string;
}

export interface Backlog {
  /** The number of readers for which about the same frames wait. */
  readonly sharers: number;
  /** True if a slow reader is always cut off. False if only other responses that need the memory cut it off. */
  readonly limited: boolean;
}

export interface Sink {
  /** @returns the number of bytes in this process that wait for the reader */
  write(frame: Frame): number;
  /**
   * Counts the waiting bytes as pending memory, and calls `onDrained` once all are sent. A further call replaces the
   * previous one.
   */
  whenDrained(backlog: Backlog, onDrained: () => void): void;
  /** Ends the stream after the waiting bytes. */
  end(frame: Frame): void;
  /** Aborts the stream immediately, so that the client reconnects. */
  breakOff(): void;
}

export interface EventStream {
  /** Callers may replace the format before `attach`. */
  format: StreamFormat;
  readonly position: string;
  readonly headers: Readonly<Record<string, string>>;
  attach(sink: Sink): void;
  onClose(callback: () => void): void;
  /** Stops the delivery after the client has disconnected. Further calls do nothing. */
  close(): void;
}

/** Unread frames wait in the queue of the response body. */
class BodySink implements Sink {
  readonly #controller: ReadableStreamDefaultController<Uint8Array>;
  #onDrained: (() => void) | undefined;

  constructor(controller: ReadableStreamDefaultController<Uint8Array>) {
    this.#controller = controller;
  }

  write({ bytes }: Frame): number {
    this.#controller.enqueue(bytes);
    return -(this.#controller.desiredSize ?? 0);
  }

  whenDrained(_backlog: Backlog, onDrained: () => void): void {
    this.#onDrained = onDrained;
  }

  drained(): void {
    const onDrained = this.#onDrained;
    this.#onDrained = undefined;
    onDrained?.();
  }

  end({ bytes }: Frame): void {
    this.#controller.enqueue(bytes);
    this.#controller.close();
  }

  breakOff(): void {
    this.#controller.error(new Error('the event stream broke off'));
  }
}

/** The delivery starts with the first read of the body. */
export function bodyOf(stream: EventStream): ReadableStream<Uint8Array> {
  let sink: BodySink | undefined;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (sink !== undefined) return sink.drained();
        sink = new BodySink(controller);
        stream.attach(sink);
      },
      cancel() {
        stream.close();
      },
    },
    // With a high-water mark of 0, the stream is not attached before the first read.
    { highWaterMark: 0, size: (bytes) => bytes?.byteLength ?? 0 },
  );
}
