import { bodyOf, type EventStream } from '../engine/events/event-stream.ts';
import type { OperationReport } from '../engine/operation/operation-result.ts';
import type { RequestFields } from '../platform/request-fields.ts';

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

/** Pieces of a file that is made as it is read, or of an event stream of a plugin. */
type Pieces = AsyncGenerator<string | Uint8Array>;

/** The body of a response: a text, bytes, the events of a subscription, or pieces. */
type ResponseBody = string | Buffer | EventStream | Pieces;

/** A body in pieces for readers of the Fetch API. No piece is made before a reader asks for the piece. */
function readableOf(pieces: Pieces): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}

const NONE: readonly string[] = [];

export interface HttpResponseOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** True for bytes of a file in memory. All responses share them, so a reader that waits holds no memory. */
  readonly isFile?: boolean;
  readonly cookies?: readonly string[];
  readonly errorCodes?: readonly string[];
  readonly operation?: OperationReport | undefined;
}

/** The response of a route, a rejection or a library. */
export class HttpResponse {
  /** A compressed response has another body. */
  body: ResponseBody;
  readonly status: number;
  /** By lower-case name. */
  readonly headers = new Map<string, string>();
  readonly isFile: boolean;
  /** Values of `set-cookie` beside the one in `headers`: the only field whose lines cannot be joined. */
  readonly cookies: readonly string[];
  /** The codes of its errors, for log and metrics. */
  errorCodes: readonly string[];
  /** The operation that it responds to, for log, metrics and caches. */
  readonly operation: OperationReport | undefined;

  constructor(
    body: ResponseBody,
    {
      status = 200,
      headers = {},
      isFile = false,
      cookies = NONE,
      errorCodes = NONE,
      operation,
    }: HttpResponseOptions = {},
  ) {
    this.body = body;
    this.status = status;
    this.isFile = isFile;
    this.cookies = cookies;
    this.errorCodes = errorCodes;
    this.operation = operation;
    for (const name in headers) this.headers.set(name, headers[name] as string);
  }

  /** The body, if all of it exists already. */
  get whole(): string | Buffer | undefined {
    return typeof this.body === 'string' || Buffer.isBuffer(this.body) ? this.body : undefined;
  }

  /** The same as a Response of the Fetch API. */
  toResponse(): Response {
    const { status, body } = this;
    const headers: [string, string][] = [
      ...this.headers,
      ...this.cookies.map((it): [string, string] => ['set-cookie', it]),
    ];
    const given =
      typeof body === 'string' || Buffer.isBuffer(body)
        ? body.length === 0
          ? null
          : typeof body === 'string'
            ? body
            : new Uint8Array(body)
        : 'attach' in body
          ? bodyOf(body)
          : readableOf(body);
    const response = new Response(given, { status, headers });
    origins.set(response, this);
    return response;
  }

  /**
   * Converts a response of the Fetch API. One that this class has made still has its body. Of all others, event streams are
   * passed on as they are read, and bodies are read first.
   * @param about what is known of the response of the service, which plugins may have replaced
   */
  static async from(
    response: Response,
    piecesOf: (events: ReadableStream<Uint8Array>) => Pieces,
    { errorCodes, operation }: Pick<HttpResponse, 'errorCodes' | 'operation'>,
  ): Promise<HttpResponse> {
    const { status, headers } = response;
    const { body: own, isFile = false } = origins.get(response) ?? {};
    const events = headers.get('content-type')?.startsWith('text/event-stream') ? response.body : null;
    const body = own ?? (events === null ? Buffer.from(await response.arrayBuffer()) : piecesOf(events));
    const fields = [...headers].filter(([name]) => name !== 'content-length' && name !== 'set-cookie');
    return new HttpResponse(body, {
      status,
      headers: Object.fromEntries(fields),
      isFile,
      cookies: headers.getSetCookie(),
      errorCodes,
      operation,
    });
  }
}

/** What responses of the Fetch API were made from. */
const origins = new WeakMap<Response, HttpResponse>();
