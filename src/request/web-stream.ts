import type { Backlog, EventStream, Frame, Sink } from './event-stream.ts';

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
