import { StringDecoder } from 'node:string_decoder';

const HEAD_END = '\r\n\r\n';
const LINE_END = '\r\n';

/**
 * Reads the response to a request for an event stream from the bytes of its connection: head, chunks (RFC 9112 section
 * 7.1), text. Thousands are read at a time, of which Node's own client would make most of the work.
 */
export class EventResponse {
  readonly #onText: (text: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  /** Bytes of a head or a chunk that has not come to its end. */
  #rest: Buffer | undefined;
  #head = '';
  status: number | undefined;
  /** Whether it came to the end that its sender meant it to have. */
  ended = false;

  constructor(onText: (text: string) => void) {
    this.#onText = onText;
  }

  take(part: Buffer): void {
    const bytes = this.#rest === undefined ? part : Buffer.concat([this.#rest, part]);
    let at = 0;
    if (this.status === undefined) {
      const headEnd = bytes.indexOf(HEAD_END);
      if (headEnd !== -1) {
        this.#readHead(bytes.toString('latin1', 0, headEnd));
        at = headEnd + HEAD_END.length;
      }
    }
    if (this.status === 200) at = this.#readChunks(bytes, at);
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at);
  }

  /** The value of a header field, once the head has come. */
  header(name: string): string | undefined {
    return new RegExp(`^${name}: *(.*)$`, 'im').exec(this.#head)?.[1]?.trim();
  }

  #readHead(head: string): void {
    this.#head = head;
    this.status = Number(head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
    if (this.status === 200 && !/^transfer-encoding: *chunked$/im.test(head))
      throw new Error(`an event stream of unknown length: ${head}`);
  }

  /** Takes all whole chunks. Returns where the first one that is not whole begins. */
  #readChunks(bytes: Buffer, from: number): number {
    for (let at = from; ; ) {
      const lineEnd = bytes.indexOf(LINE_END, at);
      if (lineEnd === -1) return at;
      const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16);
      const start = lineEnd + LINE_END.length;
      const end = start + size;
      if (Number.isNaN(size)) throw new Error(`not a chunk: ${bytes.toString('latin1', at, at + 200)}`);
      if (bytes.length < end + LINE_END.length) return at;
      if (bytes.toString('latin1', end, end + LINE_END.length) !== LINE_END)
        throw new Error(`a chunk of ${size} bytes does not end: ${bytes.toString('latin1', at, at + 200)}`);
      if (size === 0) this.ended = true;
      else this.#onText(this.#decoder.write(bytes.subarray(start, end)));
      at = end + LINE_END.length;
    }
  }
}
