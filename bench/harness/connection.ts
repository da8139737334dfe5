import { connect, type Socket } from 'node:net';

/** What came back, and all of it as it was on the wire: both are only good until the callback returns. */
export type OnResponse = (status: number, body: Buffer, received: Buffer) => void;

const HEAD_END = Buffer.from('\r\n\r\n');
const LINE_END = Buffer.from('\r\n');

interface Head {
  readonly status: number;
  /** Undefined where the body is chunked (RFC 9112 section 7.1). */
  readonly length: number | undefined;
  readonly bodyStart: number;
}

/**
 * One keep-alive connection that has one request on its way at a time. Written by hand because Node's own client costs
 * more CPU than the floor that it would measure.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #onError: (error: Error) => void;
  #parts: Buffer[] = [];
  #size = 0;
  #head: Head | undefined;
  #onResponse: OnResponse | undefined;
  #closed = false;

  private constructor(socket: Socket, onError: (error: Error) => void) {
    this.#socket = socket;
    this.#onError = onError;
    socket.setNoDelay(true);
    socket.on('data', (part: Buffer) => this.#take(part));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  static open(port: number, onError: (error: Error) => void): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Connection(socket, onError));
      });
    });
  }

  /** Sends a whole request. */
  send(request: Buffer, onResponse: OnResponse): void {
    this.#onResponse = onResponse;
    this.#socket.write(request);
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#socket.destroy();
    this.#onError(error);
  }

  #take(part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length;
    // Large responses come in many parts, which are put together once.
    if (this.#head?.length !== undefined && this.#size < this.#head.bodyStart + this.#head.length) return;
    const received = this.#parts.length === 1 ? part : Buffer.concat(this.#parts);
    this.#parts = [received];
    this.#head ??= readHead(received);
    if (this.#head === undefined) return;
    const { status, length, bodyStart } = this.#head;
    const body =
      length === undefined
        ? readChunks(received, bodyStart)
        : received.length >= bodyStart + length
          ? received.subarray(bodyStart, bodyStart + length)
          : undefined;
    if (body === undefined) return;
    this.#parts = [];
    this.#size = 0;
    this.#head = undefined;
    const onResponse = this.#onResponse;
    this.#onResponse = undefined;
    onResponse?.(status, body, received);
  }
}

function readHead(received: Buffer): Head | undefined {
  const end = received.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const text = received.toString('latin1', 0, end).toLowerCase();
  const length = /\r\ncontent-length: *(\d+)/.exec(text)?.[1];
  const status = Number(text.slice(9, 12));
  const bodyStart = end + HEAD_END.length;
  if (length !== undefined) return { status, length: Number(length), bodyStart };
  return { status, length: text.includes('transfer-encoding: chunked') ? undefined : 0, bodyStart };
}

/** The body out of its chunks; undefined while the last one is missing. */
function readChunks(received: Buffer, start: number): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = received.indexOf(LINE_END, at);
    if (lineEnd === -1) return undefined;
    const size = Number.parseInt(received.toString('latin1', at, lineEnd), 16);
    const dataStart = lineEnd + LINE_END.length;
    if (received.length < dataStart + size + LINE_END.length) return undefined;
    if (size === 0) return Buffer.concat(parts);
    parts.push(received.subarray(dataStart, dataStart + size));
    at = dataStart + size + LINE_END.length;
  }
}

type Headers = Readonly<Record<string, string>>;

function head(start: string, headers: Headers): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${start} HTTP/1.1\r\n${fields.join('')}\r\n`;
}

/** A GET, as the bytes on the wire. */
export function getRequest(path: string, headers: Headers): Buffer {
  return Buffer.from(head(`GET ${path}`, { host: '127.0.0.1', accept: 'application/json', ...headers }));
}

/** A POST of JSON, as the bytes on the wire. */
export function postRequest(path: string, body: unknown, headers: Headers): Buffer {
  const payload = Buffer.from(JSON.stringify(body));
  const fields = {
    host: '127.0.0.1',
    'content-type': 'application/json',
    accept: 'application/json',
    'content-length': String(payload.length),
    ...headers,
  };
  return Buffer.concat([Buffer.from(head(`POST ${path}`, fields)), payload]);
}
