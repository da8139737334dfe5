import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';

const { HTTP2_HEADER_METHOD, HTTP2_HEADER_PATH, HTTP2_HEADER_STATUS, NGHTTP2_NO_ERROR } = constants;

export interface Response {
  readonly status: number;
  readonly text: string;
}

export interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A client with one connection over HTTP/2, which it opens again once it has ended. */
export class Http2Client {
  readonly #origin: string;
  readonly #certificate: string;
  #session: ClientHttp2Session | undefined;

  constructor(origin: string, certificate: string) {
    this.#origin = origin;
    this.#certificate = certificate;
  }

  #open(): ClientHttp2Session {
    const known = this.#session;
    if (known !== undefined && !known.closed && !known.destroyed) return known;
    const session = connect(this.#origin, { ca: this.#certificate });
    this.#session = session;
    // The requests on it fail, and tell.
    session.on('error', () => undefined);
    // The server takes no new requests on this connection; those that it has taken go on.
    session.on('goaway', () => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }

  /** Sends a request. The stream emits its response. */
  open({ method, path, headers, body }: Sent): ClientHttp2Stream {
    const stream = this.#open().request(
      { [HTTP2_HEADER_METHOD]: method, [HTTP2_HEADER_PATH]: path, ...headers },
      { endStream: body === undefined },
    );
    if (body !== undefined) stream.end(body);
    return stream;
  }

  /** Sends a request and reads its response. Rejects if none comes, or not all of it. */
  send(sent: Sent): Promise<Response> {
    return new Promise((resolve, reject) => {
      const stream = this.open(sent);
      let status = 0;
      let text = '';
      let whole = false;
      stream.setEncoding('utf8');
      stream.on('response', (headers) => {
        status = Number(headers[HTTP2_HEADER_STATUS]);
      });
      stream.on('data', (part: string) => {
        text += part;
      });
      stream.on('end', () => {
        whole = true;
      });
      stream.on('error', reject);
      stream.on('close', () => {
        if (whole && status !== 0 && stream.rstCode === NGHTTP2_NO_ERROR) resolve({ status, text });
        else reject(new Error(`the connection ended before the answer (code ${stream.rstCode})`));
      });
    });
  }

  close(): void {
    this.#session?.destroy();
  }
}
