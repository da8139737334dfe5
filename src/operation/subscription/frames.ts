import type { EventText, Frame, StreamFormat } from '../../request/event-stream.ts';

/** Some events, written once in each format that the streams of a cohort have. */
export class Frames {
  readonly #events: readonly EventText[];
  /** The id of the last event. */
  readonly lastId: string;
  readonly #written = new Map<StreamFormat, Frame>();

  private constructor(events: readonly EventText[], lastId: string) {
    this.#events = events;
    this.lastId = lastId;
  }

  /** Undefined for no events. */
  static of(events: readonly EventText[]): Frames | undefined {
    const last = events.at(-1);
    return last === undefined ? undefined : new Frames(events, last.id);
  }

  in(format: StreamFormat): Frame {
    const known = this.#written.get(format);
    if (known !== undefined) return known;
    const frame = format.events(this.#events);
    this.#written.set(format, frame);
    return frame;
  }
}
