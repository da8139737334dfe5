/** The server did not open the stream. */
export class RejectedError extends Error {
  /** Whether a client is told to try again later (contract: errors). */
  readonly passing: boolean;

  constructor(status: number, text: string) {
    super(`a subscriber was answered with ${status}: ${text.slice(0, 500)}`);
    this.name = 'RefusedError';
    this.passing = status === 429 || status === 503;
  }
}

/** Every event has it once, and data cannot have it: line breaks in JSON are escaped. */
const MARKER = Buffer.from('\nevent: next');
const LINE_BREAK = 0x0a;
const HEAD_END = '\r\n\r\n';

/** One response: counts its events without parsing them, so that the reader costs little beside the server. */
export class Stream {
  #start: string | undefined = '';
  #lastEventId: string | undefined;
  /** How much of a marker the last bytes were. */
  #matched = 0;

  /** Whether the head and the first block have arrived. */
  get live(): boolean {
    return this.#start === undefined;
  }

  /** The id of the position at which it started. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** The number of events whose beginning the bytes complete. Throws RefusedError. */
  take(bytes: Buffer): number {
    if (this.#start === undefined) return this.#count(bytes, 0);
    const received = this.#start.length;
    this.#start += bytes.toString('latin1');
    const headEnd = this.#start.indexOf(HEAD_END);
    if (headEnd === -1) return 0;
    const status = Number(this.#start.slice(9, 12));
    if (status !== 200) throw new RejectedError(status, this.#start.slice(headEnd + HEAD_END.length));
    const blockEnd = this.#start.indexOf('\n\n', headEnd + HEAD_END.length);
    if (blockEnd === -1) return 0;
    this.#lastEventId = /^id: (.+)$/m.exec(this.#start.slice(headEnd, blockEnd))?.[1];
    this.#start = undefined;
    return this.#count(bytes, Math.max(0, blockEnd + 1 - received));
  }

  #count(bytes: Buffer, from: number): number {
    let at = from;
    let count = 0;
    if (this.#matched > 0) {
      let matched = this.#matched;
      while (at < bytes.length && matched < MARKER.length && bytes[at] === MARKER[matched]) {
        at += 1;
        matched += 1;
      }
      if (matched < MARKER.length && at === bytes.length) {
        this.#matched = matched;
        return 0;
      }
      this.#matched = 0;
      if (matched === MARKER.length) count = 1;
    }
    for (;;) {
      const found = bytes.indexOf(MARKER, at);
      if (found === -1) break;
      count += 1;
      at = found + MARKER.length;
    }
    this.#matched = beginning(bytes, at);
    return count;
  }
}

/** How many of the last bytes may be the beginning of a marker. */
function beginning(bytes: Buffer, from: number): number {
  for (let at = bytes.length - 1; at >= from && bytes.length - at < MARKER.length; at -= 1) {
    if (bytes[at] !== LINE_BREAK) continue;
    const length = bytes.length - at;
    return MARKER.compare(bytes, at, bytes.length, 0, length) === 0 ? length : 0;
  }
  return 0;
}
