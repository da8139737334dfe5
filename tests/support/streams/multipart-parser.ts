import type { Parsed } from '../parsed.ts';

/** A part of a stream in Apollo's multipart protocol for subscriptions. */
export interface Part {
  /** The body as it came. */
  readonly json: string;
  /** What the part carries; undefined for a heartbeat. */
  readonly payload: Parsed;
}

const DELIMITER = '\r\n--graphql';
const HEAD = '\r\ncontent-type: application/json\r\n\r\n';
const CLOSING = '--\r\n';

/** Throws unless a text begins as it must, as far as it has come. */
function expectStart(text: string, start: string): void {
  if (!start.startsWith(text.slice(0, start.length)))
    throw new Error(`expected ${JSON.stringify(start)}, got ${JSON.stringify(text.slice(0, 200))}`);
}

function partOf(json: string): Part {
  if (/[\r\n]|--graphql/.test(json)) throw new Error(`a body that some parser may split: ${json}`);
  const body: Parsed = JSON.parse(json);
  const names = Object.keys(body);
  if (names.some((name) => name !== 'payload')) throw new Error(`neither heartbeat nor payload: ${json}`);
  return { json, payload: body.payload };
}

/** Reads the parts of a stream from its text, piece by piece. Throws at whatever it must not have. */
export class MultipartParser {
  #text = '';
  #begun = false;
  /** Whether the closing delimiter has come. */
  closed = false;

  /** The parts that are whole now. A part is whole with the delimiter after it. */
  take(text: string): Part[] {
    this.#text += text;
    const parts: Part[] = [];
    while (this.#step(parts));
    return parts;
  }

  #step(parts: Part[]): boolean {
    const text = this.#text;
    if (this.closed) {
      if (text !== '') throw new Error(`after the end: ${JSON.stringify(text)}`);
      return false;
    }
    if (!this.#begun) {
      expectStart(text, DELIMITER);
      if (text.length < DELIMITER.length) return false;
      this.#begun = true;
      this.#text = text.slice(DELIMITER.length);
      return true;
    }
    if (text.startsWith('-')) {
      expectStart(text, CLOSING);
      if (text.length < CLOSING.length) return false;
      this.closed = true;
      this.#text = text.slice(CLOSING.length);
      return true;
    }
    expectStart(text, HEAD);
    const end = text.indexOf(DELIMITER, HEAD.length);
    if (end === -1) return false;
    parts.push(partOf(text.slice(HEAD.length, end)));
    this.#text = text.slice(end + DELIMITER.length);
    return true;
  }
}
