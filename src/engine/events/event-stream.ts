/** Part of an event stream, built once for all its readers. */
export interface Frame {
  readonly bytes: Buffer;
  /** The same bytes as one chunk of the chunked transfer coding (RFC 9112 section 7.1). */
  readonly chunk: Buffer;
}

/** An event as it is sent. */
export interface EventText {
  /** The position after this event, to resume from. */
  readonly id: string;
  /** The response as JSON. */
  readonly text: string;
}

/** How events are written to a stream. */
export interface StreamFormat {
  /** The headers of the response. `id` is the position at which the stream starts, if it has one. */
  headers(id: string | undefined): Readonly<Record<string, string>>;
  /** The start of a stream. `id` is the position at which it starts. */
  opening(id: string): Frame;
  events(events: readonly EventText[]): Frame;
  readonly heartbeat: Frame;
  /** A heartbeat that clients see as an event, with the position of the stream. */
  visibleHeartbeat(id: string): Frame;
  /** The position alone; undefined where it moves with events only. */
  position(id: string): Frame | undefined;
  /** A last response, which belongs to no event, and the orderly end. `id` is the position of the stream. */
  last(text: string, id: string | undefined): Frame;
  /** The orderly end without a last response. */
  readonly completion: Frame;
  /** The end of an incomplete stream: the client should reconnect. */
  readonly interruption: Frame;
  /** All of a stream with a single response. `id` is its position, if it has one. */
  whole(text: string, id: string | undefined): string;
}

/** What waits for the reader of a stream. */
export interface Backlog {
  /** How many readers have about the same frames waiting. */
  readonly sharers: number;
  /** Whether a reader that is too slow is cut off. Otherwise it is only if others need the memory. */
  readonly limited: boolean;
}

/** Where a stream goes: a socket, or the body of a Fetch API response. */
export interface Sink {
  /** Sends a frame. Returns how many bytes now wait for the reader in this process. */
  write(frame: Frame): number;
  /**
   * Counts the waiting bytes as pending memory, and calls `onDrained` once none are left. A further call replaces
   * the previous one.
   */
  whenDrained(backlog: Backlog, onDrained: () => void): void;
  /** Ends the stream after what waits. */
  end(frame: Frame): void;
  /** Breaks the stream off at once, so that the client reconnects. */
  breakOff(): void;
}

/** The stream of events that a subscription asks for. */
export interface EventStream {
  /** How frames are written. May be replaced before `attach`. */
  format: StreamFormat;
  /** The id of the last event that was sent, or of the start. */
  readonly position: string;
  /** The headers of the response. To be read before `attach`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Starts to deliver. To be called once. */
  attach(sink: Sink): void;
  /** Calls back once the stream has closed. */
  onClose(callback: () => void): void;
  /** Ends the delivery: the client has disconnected, before `attach` or after. Further calls do nothing. */
  close(): void;
}

/** Writes an event stream to the body of a Fetch API response. What nobody has read yet waits in its queue. */
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

  /** The reader waits for more. */
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

/** The body of a response with an event stream. Delivery starts when it is read. */
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
    // Nothing is asked for before somebody reads.
    { highWaterMark: 0, size: (bytes) => bytes?.byteLength ?? 0 },
  );
}
