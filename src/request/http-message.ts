import { bodyOf, type EventStream } from './event-stream.ts';
import type { RequestFields } from './request-fields.ts';

/**
 * The part of requests and responses that plugins use. Most requests need no more of the Fetch API, whose
 * real classes cost as much as the rest of a short query.
 */

/** A request as plugins and routes see it, however it arrived. */
export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: RequestFields;
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>;
}

/** The parts of a request URL that routes use. */
export type RequestUrl = Pick<URL, 'href' | 'hostname' | 'pathname' | 'search' | 'searchParams'>;

/** Header fields by lower-case name, as from Node's parser. */
export type HeaderFields = Readonly<Record<string, string | readonly string[] | undefined>>;

class PlainFields implements RequestFields {
  readonly #fields: HeaderFields;

  constructor(fields: HeaderFields) {
    this.#fields = fields;
  }

  get(name: string): string | null {
    const value = this.#fields[name];
    if (value === undefined) return null;
    return typeof value === 'string' ? value : value.join(', ');
  }

  keys(): readonly string[] {
    return Object.keys(this.#fields);
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined;
  }
}

/** A request whose body has been read. */
export class PlainRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainFields;
  readonly #body: Uint8Array;

  constructor(method: string, url: string, fields: HeaderFields, body: Uint8Array) {
    this.method = method;
    this.url = url;
    this.headers = new PlainFields(fields);
    this.#body = body;
  }

  async arrayBuffer(): Promise<Uint8Array> {
    return this.#body;
  }
}

/** By lower-case name. */
type ResponseHeaders = Map<string, string>;

/** A response whose body is a single text. */
export class PlainResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly text: string;

  constructor(
    text: string,
    { status = 200, headers = {} }: { status?: number; headers?: Readonly<Record<string, string>> } = {},
  ) {
    this.text = text;
    this.status = status;
    this.headers = new Map();
    for (const name in headers) this.headers.set(name, headers[name] as string);
  }

  /** The same as a Response of the Fetch API. */
  toResponse(): Response {
    return new Response(this.text === '' ? null : this.text, {
      status: this.status,
      headers: [...this.headers],
    });
  }
}

/** A response of bytes, such as a compressed text. */
export class BytesResponse extends PlainResponse {
  readonly bytes: Buffer;

  constructor(bytes: Buffer, { status, headers }: { status?: number; headers: Iterable<[string, string]> }) {
    super('', status === undefined ? {} : { status });
    this.bytes = bytes;
    for (const [name, value] of headers) this.headers.set(name, value);
  }

  override toResponse(): Response {
    return new Response(new Uint8Array(this.bytes), { status: this.status, headers: [...this.headers] });
  }
}

/** A response from a file in memory. All responses share the bytes, so a reader that waits holds no memory. */
export class FileResponse extends BytesResponse {}

/** A response whose body is a stream of events. */
export class StreamResponse {
  readonly status = 200;
  readonly headers: ResponseHeaders;
  readonly stream: EventStream;

  constructor(stream: EventStream) {
    this.stream = stream;
    this.headers = new Map(Object.entries(stream.headers));
  }

  toResponse(): Response {
    return new WebStreamResponse(this);
  }
}

/** The same as a Response of the Fetch API. A socket takes the stream, any other reader the body. */
export class WebStreamResponse extends Response {
  readonly stream: EventStream;

  constructor({ stream, status, headers }: StreamResponse) {
    super(bodyOf(stream), { status, headers: [...headers] });
    this.stream = stream;
  }
}

/** A file whose text is made as it is read, in bounded memory: its length is not known before. */
export class DownloadResponse extends Response {
  readonly pieces: AsyncIterable<string>;

  /** A socket takes the pieces, any other reader the body: whichever it is reads all of them. */
  constructor(pieces: AsyncGenerator<string>, headers: Readonly<Record<string, string>>) {
    const encoder = new TextEncoder();
    const source: UnderlyingDefaultSource<Uint8Array<ArrayBuffer>> = {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      },
      async cancel() {
        await pieces.return(undefined);
      },
    };
    // Nothing is made before somebody reads.
    super(new ReadableStream(source, { highWaterMark: 0 }), { headers });
    this.pieces = pieces;
  }
}

/** The headers of any response, as far as plugins read and set them. */
export interface OutgoingHeaders {
  get(name: string): string | null | undefined;
  has(name: string): boolean;
  set(name: string, value: string): unknown;
}

/**
 * The response of a route or a refusal: plain, or of the Fetch API if it has no text or comes from a library.
 */
export type HttpResponse = PlainResponse | StreamResponse | Response;

export function asResponse(response: HttpResponse): Response {
  return response instanceof Response ? response : response.toResponse();
}
