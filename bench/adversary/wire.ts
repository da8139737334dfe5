import { connect, type Socket } from 'node:net';

/** A response. Of its body only the beginning is kept: large ones must not keep whoever takes the times busy. */
export interface ResponseData {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

const HEAD_END = '\r\n\r\n';
const CHUNKS_END = Buffer.from('0\r\n\r\n');
const KEPT_BYTES = 16_384;

/** Where a client comes from and goes to. Clients of other addresses have buckets of their own. */
export interface Way {
  readonly port: number;
  readonly from: string;
}

export const connectFrom = ({ port, from }: Way, onConnect: () => void): Socket =>
  connect({ port, host: '127.0.0.1', localAddress: from }, onConnect);

/** A keep-alive connection with one request on its way at a time, which forgets what it reads. */
export class Wire {
  readonly #socket: Socket;
  #onResponse: ((response: ResponseData) => void) | undefined;
  #onEnd: (error: Error) => void = () => undefined;
  #start = Buffer.alloc(0);
  #head: string | undefined;
  /** Bytes of the body that are still to come; undefined where it is chunked (RFC 9112 section 7.1). */
  #leftBytes: number | undefined;
  #tail = Buffer.alloc(0);
  #open = true;

  private constructor(socket: Socket) {
    this.#socket = socket.setNoDelay(true);
    socket.on('data', (part: Buffer) => this.#take(part));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('the server closed the connection')));
  }

  static open(way: Way): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = connectFrom(way, () => {
        socket.off('error', reject);
        resolve(new Wire(socket));
      });
      socket.once('error', reject);
    });
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** `onEnd` is called instead of `onAnswer` if the connection ends before it. */
  send(request: Buffer, onResponse: (response: ResponseData) => void, onEnd: (error: Error) => void): void {
    this.#onResponse = onResponse;
    this.#onEnd = onEnd;
    if (this.#open) this.#socket.write(request);
    else onEnd(new Error('the connection is closed'));
  }

  close(): void {
    this.#open = false;
    this.#socket.destroy();
  }

  #end(error: Error): void {
    if (!this.#open) return;
    this.close();
    if (this.#onResponse !== undefined) this.#onEnd(error);
  }

  #take(part: Buffer): void {
    if (this.#start.length < KEPT_BYTES || this.#head === undefined)
      this.#start = Buffer.concat([this.#start, part.subarray(0, KEPT_BYTES)]);
    if (this.#head === undefined) this.#takeHead(part);
    else this.#takeBody(part, part.length);
  }

  #takeHead(part: Buffer): void {
    const end = this.#start.indexOf(HEAD_END);
    if (end < 0) return;
    this.#head = this.#start.toString('latin1', 0, end);
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1];
    const chunked = /\r\ntransfer-encoding: *chunked/i.test(this.#head);
    this.#leftBytes = length === undefined && chunked ? undefined : Number(length ?? 0);
    const bodyBytes = this.#start.length - end - HEAD_END.length;
    // A first part longer than what is kept was cut.
    this.#takeBody(part, bodyBytes + Math.max(0, part.length - KEPT_BYTES));
  }

  #takeBody(part: Buffer, bytes: number): void {
    if (this.#leftBytes === undefined) {
      this.#tail = Buffer.concat([this.#tail, part.subarray(-CHUNKS_END.length)]).subarray(
        -CHUNKS_END.length,
      );
      if (!this.#tail.equals(CHUNKS_END)) return;
    } else {
      this.#leftBytes -= bytes;
      if (this.#leftBytes > 0) return;
    }
    const head = this.#head ?? '';
    const body = this.#start.toString('utf8', head.length + HEAD_END.length);
    const onResponse = this.#onResponse;
    this.#head = undefined;
    this.#onResponse = undefined;
    this.#start = Buffer.alloc(0);
    this.#tail = Buffer.alloc(0);
    if (/\r\nconnection: *close/i.test(head)) this.close();
    onResponse?.({ status: Number(head.slice(9, 12)), head, body });
  }
}

/** One request on a connection of its own. Rejects if that cannot be made or ends before the response. */
export async function ask(way: Way, request: Buffer): Promise<ResponseData> {
  const wire = await Wire.open(way);
  try {
    return await new Promise((resolve, reject) => wire.send(request, resolve, reject));
  } finally {
    wire.close();
  }
}

/** A header field of a response. */
export const fieldOf = ({ head }: ResponseData, name: string): string | undefined =>
  new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1];

/** What a response sets as a cookie of this name, as it is sent back. */
export const cookieOf = ({ head }: ResponseData, name: string): string | undefined =>
  new RegExp(`\\r\\nset-cookie: *(${name}=[^;\\r]+)`, 'i').exec(head)?.[1];

export type Fields = Readonly<Record<string, string>>;

/** A request whose body is written once and sent often. */
export function requestOf(
  method: string,
  path: string,
  fields: Fields,
  body: Buffer = Buffer.alloc(0),
): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    ...(method === 'POST' ? { 'content-length': String(body.length) } : {}),
    ...fields,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), body]);
}

export const getOf = (path: string, fields: Fields = {}) => requestOf('GET', path, fields);

export const formOf = (path: string, form: Fields, fields: Fields = {}) =>
  requestOf(
    'POST',
    path,
    { 'content-type': 'application/x-www-form-urlencoded', ...fields },
    Buffer.from(new URLSearchParams(form).toString()),
  );
