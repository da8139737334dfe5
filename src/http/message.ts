import { bodyOf, type EventStream } from '../engine/events/event-stream.ts';
import type { OperationReport } from '../engine/operation/operation-result.ts';
import type { RequestFields } from '../platform/request-fields.ts';

/** Most requests need only this part of the Fetch API. Its real classes cost as much as the rest of a short query. */

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: RequestFields;
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>;
}

export type RequestUrl = Pick<URL, 'href' | 'hostname' | 'pathname' | 'search' | 'searchParams'>;

/** The keys are in lower case, as Node's parser delivers them. */
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

/**
 * Pieces come from a file that is created during the download, or from a plugin's event stream. No piece is created
 * before a reader asks for it.
 */
type Pieces = AsyncGenerator<Uint8Array>;

type ResponseBody = string | Buffer | EventStream | Pieces;

const readableOf = (pieces: Pieces) =>
  new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );

const NONE: readonly string[] = [];

export interface HttpResponseOptions {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** True for a file in memory. All responses share its bytes, so a waiting reader uses no further memory. */
  readonly isFile?: boolean;
  readonly cookies?: readonly string[];
  readonly errorCodes?: readonly string[];
  readonly operation?: OperationReport | undefined;
}

export class HttpResponse {
  /** Compression replaces the body. */
  body: ResponseBody;
  readonly status: number;
  readonly headers = new Map<string, string>();
  readonly isFile: boolean;
  /** `set-cookie` is the only field whose lines cannot be joined, so further values are separate. */
  readonly cookies: readonly string[];
  errorCodes: readonly string[];
  readonly operation: OperationReport | undefined;

  constructor(body: ResponseBody, options: HttpResponseOptions = {}) {
    const {
      status = 200,
      headers = {},
      isFile = false,
      cookies = NONE,
      errorCodes = NONE,
      operation,
    } = options;
    this.body = body;
    this.status = status;
    this.isFile = isFile;
    this.cookies = cookies;
    this.errorCodes = errorCodes;
    this.operation = operation;
    for (const name in headers) this.headers.set(name, headers[name] as string);
  }

  /** Undefined if a part of the body does not exist yet. */
  get whole(): string | Buffer | undefined {
    return typeof this.body === 'string' || Buffer.isBuffer(this.body) ? this.body : undefined;
  }

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
   * A response made by `toResponse` still has its original body. Other event streams pass through, and other bodies
   * are read first. Plugins may have replaced the service's response, so its error codes and operation are passed
   * separately.
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

/** Each Fetch API response made by `toResponse` maps to its `HttpResponse`. */
const origins = new WeakMap<Response, HttpResponse>();
