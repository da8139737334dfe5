import { bodyOf, type EventStream } from '../engine/events/event-stream.ts';

/**
 * What the service does with a malformed value of a field. For a field with one value, several lines are malformed,
 * unless all of them are part of a list.
 */
type MalformedField =
  | 'ignored'
  | 'replaced'
  | 'rejected with 400'
  | 'rejected with 401'
  | 'rejected with 403'
  | 'rejected with 415'
  | 'reported on the stream';

/** How the service interprets a field of a request. */
export interface RequestField {
  /** A list has several members, in one line or in several (RFC 9110 section 5.3). */
  readonly values: 'one' | 'list';
  readonly malformed: MalformedField;
  /** A well-formed value of a field that has one value. */
  readonly pattern?: RegExp;
}

/**
 * Each field of a request that the service reads. Every recipient may join the lines of a field with commas (RFC 9110
 * section 5.3), so no value of a field with one value may contain a comma, except in a quoted string: a duplicated line would
 * otherwise look like another value.
 */
export const REQUEST_FIELDS = {
  accept: { values: 'list', malformed: 'ignored' },
  'accept-encoding': { values: 'list', malformed: 'ignored' },
  'access-control-request-headers': { values: 'list', malformed: 'ignored' },
  authorization: { values: 'one', malformed: 'rejected with 401' },
  'content-encoding': { values: 'list', malformed: 'rejected with 415' },
  'content-type': { values: 'one', malformed: 'rejected with 415', pattern: /^[^,]*$/ },
  cookie: { values: 'list', malformed: 'ignored' },
  host: { values: 'one', malformed: 'rejected with 400' },
  /** Bare, or as a string (RFC 8941 section 3.3.3), in which only quotes and backslashes are escaped. */
  'idempotency-key': {
    values: 'one',
    malformed: 'rejected with 400',
    pattern: /^(?:[!#-+\--~](?:[ -+\--~]*[!-+\--~])?|"(?:[ !#-[\]-~]|\\["\\])+")$/,
  },
  'if-none-match': { values: 'list', malformed: 'ignored' },
  'last-event-id': { values: 'one', malformed: 'reported on the stream' },
  origin: { values: 'one', malformed: 'rejected with 403' },
  'sec-fetch-dest': { values: 'one', malformed: 'rejected with 400' },
  'sec-fetch-site': { values: 'one', malformed: 'rejected with 403' },
  traceparent: { values: 'one', malformed: 'ignored' },
  'user-agent': { values: 'one', malformed: 'ignored' },
  'x-forwarded-for': { values: 'list', malformed: 'ignored' },
  'x-forwarded-proto': { values: 'list', malformed: 'ignored' },
  'x-query-cost': { values: 'one', malformed: 'ignored', pattern: /^1$/ },
  /** Any printable characters of ASCII except a comma. */
  'x-request-id': { values: 'one', malformed: 'replaced', pattern: /^[ -+\--~]{1,128}$/ },
  'x-show-deprecations': { values: 'one', malformed: 'ignored', pattern: /^1$/ },
  'x-show-event-id': { values: 'one', malformed: 'ignored', pattern: /^1$/ },
} as const satisfies Record<string, RequestField>;

export type RequestFieldName = keyof typeof REQUEST_FIELDS;

/** The header fields of a request. Each that the service reads is in REQUEST_FIELDS. */
export interface RequestFields {
  get(name: RequestFieldName): string | null;
  has(name: string): boolean;
  keys(): Iterable<string>;
}

type PatternedField = {
  [Name in RequestFieldName]: (typeof REQUEST_FIELDS)[Name] extends { pattern: RegExp } ? Name : never;
}[RequestFieldName];

/** @returns the value without spaces around it; undefined if the field is absent or malformed */
export function readField(headers: Pick<RequestFields, 'get'>, name: PatternedField): string | undefined {
  const value = headers.get(name)?.trim();
  return value !== undefined && REQUEST_FIELDS[name].pattern.test(value) ? value : undefined;
}

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

interface HttpResponseOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** True for bytes of a file in memory. All responses share them, so a reader that waits holds no memory. */
  readonly isFile?: boolean;
  readonly cookies?: readonly string[];
}

/** The response of a route, a refusal or a library. */
export class HttpResponse {
  /** A compressed response has another body. */
  body: ResponseBody;
  readonly status: number;
  /** By lower-case name. */
  readonly headers = new Map<string, string>();
  readonly isFile: boolean;
  /** Values of `set-cookie` beside the one in `headers`: the only field whose lines cannot be joined. */
  readonly cookies: readonly string[];

  constructor(
    body: ResponseBody,
    { status = 200, headers = {}, isFile = false, cookies = [] }: HttpResponseOptions = {},
  ) {
    this.body = body;
    this.status = status;
    this.isFile = isFile;
    this.cookies = cookies;
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
   */
  static async from(
    response: Response,
    piecesOf: (events: ReadableStream<Uint8Array>) => Pieces,
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
    });
  }
}

/** What responses of the Fetch API were made from. */
const origins = new WeakMap<Response, HttpResponse>();
