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
  /** The headers of the response. To be read before `attach`. */
  readonly headers: Readonly<Record<string, string>>;
  /** Starts to deliver. To be called once. */
  attach(sink: Sink): void;
  /** Ends the delivery: the client has disconnected, before `attach` or after. Further calls do nothing. */
  close(): void;
}
