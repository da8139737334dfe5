import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib';
import { Line } from '../../platform/line.ts';
import { holderOf } from '../../request/caller.ts';
import {
  BytesResponse,
  FileResponse,
  type HttpResponse,
  type OutgoingHeaders,
  PlainResponse,
  type RequestUrl,
  StreamResponse,
} from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { AskedRequest } from '../plugin.ts';
import { type Encoding, type Preferred, preferredEncodings } from './accept-encoding.ts';
import { addVary } from './vary.ts';

/** Contract section 2: answers up to this size stay as they are. Most fit into one packet then. */
const MAX_PLAIN_BYTES = 1_024;
/** Up to this size a hop to another thread costs more than the work, which takes 0.2 ms at most. */
const MAX_INLINE_BYTES = 16_384;
/** Two of libuv's four threads: the others hash passwords and look up names. */
const THREADS = 2;
/** If more wait, answers go out as they are. */
const MAX_WAITING = 256;

/** Their answers depend on what another site can make a browser send (BREACH). */
const EXCLUDED_PARAMETERS = ['api_key', 'stream_token'];
const COMPRESSIBLE =
  /^(?:text\/(?!event-stream)|application\/(?:json|[\w.-]+\+json|javascript)\b|image\/svg)/;

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT, ZSTD_c_compressionLevel } = constants;
/** For answers made for one caller. Higher levels save a twentieth more, for up to twice the CPU (decision 26). */
const QUICK = { br: 1, zstd: 3, gzip: 1 };
/** For files, compressed once. */
const THOROUGH = { br: 5, zstd: 9, gzip: 6 };

const inThread = {
  br: promisify(brotliCompress) as (bytes: Buffer, options: object) => Promise<Buffer>,
  zstd: promisify(zstdCompress) as (bytes: Buffer, options: object) => Promise<Buffer>,
  gzip: promisify(gzip) as (bytes: Buffer, options: object) => Promise<Buffer>,
};
const inline = { br: brotliCompressSync, zstd: zstdCompressSync, gzip: gzipSync };

function optionsOf(encoding: Encoding, level: number, size: number): object {
  if (encoding === 'gzip') return { level };
  if (encoding === 'zstd') return { pledgedSrcSize: size, params: { [ZSTD_c_compressionLevel]: level } };
  return { params: { [BROTLI_PARAM_QUALITY]: level, [BROTLI_PARAM_SIZE_HINT]: size } };
}

/** Gives responses the coding that their clients prefer, or leaves them as they are. */
export interface Compression {
  plain(
    response: HttpResponse,
    request: AskedRequest,
    state: RequestState,
    url: RequestUrl,
  ): HttpResponse | Promise<HttpResponse>;
  /** The same for a response that is no more than one of the Fetch API, whoever made it. */
  fetched(
    response: Response,
    request: AskedRequest,
    state: RequestState,
    url: RequestUrl,
  ): Response | Promise<Response>;
}

/** Whether an answer made for this caller may be compressed (contract section 2). */
function mayCompress(
  { headers }: AskedRequest,
  { route, operationKind, credentialPlace }: RequestState,
  { search, searchParams }: RequestUrl,
): boolean {
  if (operationKind === 'mutation' || operationKind === 'subscription') return false;
  if (credentialPlace !== undefined && credentialPlace !== 'authorization') return false;
  if (headers.has('cookie') || !route.compressible) return false;
  return search === '' || !EXCLUDED_PARAMETERS.some((name) => searchParams.has(name));
}

function isCompressible(headers: OutgoingHeaders): boolean {
  return !headers.has('content-encoding') && COMPRESSIBLE.test(headers.get('content-type') ?? '');
}

/** The codings for a response; undefined if it stays as it is. */
function preferredFor(request: AskedRequest, headers: OutgoingHeaders): Preferred | undefined {
  const accepted = request.headers.get('accept-encoding');
  if (accepted === null) return undefined;
  const preferred = preferredEncodings(accepted);
  return preferred !== undefined && isCompressible(headers) ? preferred : undefined;
}

function describe(headers: OutgoingHeaders, encoding: Encoding): void {
  headers.set('content-encoding', encoding);
  addVary(headers, 'Accept-Encoding');
  // A strong validator names the bytes of one representation (RFC 9110 section 8.8.1).
  const etag = headers.get('etag');
  if (etag?.startsWith('"')) headers.set('etag', `W/${etag}`);
}

/** Compresses answers over 1 KiB for clients that ask for it. Costs the others one look at a header. */
export function createCompression(): Compression {
  const threads = new Line({ places: THREADS });
  /** By the bytes of the file, which all of its responses share. */
  const files = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

  // Those who wait keep no copy.
  const inTurn = (owner: string | undefined, content: string | Buffer, encoding: Encoding, level: number) =>
    threads.measured(owner, async () => {
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
      return inThread[encoding](bytes, optionsOf(encoding, level, bytes.length));
    });

  /** Compresses a file at its first use: for everybody, so it is the service's own work. */
  function fileIn(encoding: Encoding, bytes: Buffer): Promise<Buffer> {
    const known = files.get(bytes) ?? new Map<Encoding, Promise<Buffer>>();
    files.set(bytes, known);
    const compressed = known.get(encoding) ?? inTurn(undefined, bytes, encoding, THOROUGH[encoding]);
    known.set(encoding, compressed);
    compressed.catch(() => known.delete(encoding));
    return compressed;
  }

  async function compressFile(response: FileResponse, encoding: Encoding): Promise<HttpResponse> {
    if (response.bytes.length <= MAX_PLAIN_BYTES) return response;
    describe(response.headers, encoding);
    return new FileResponse(await fileIn(encoding, response.bytes), response);
  }

  async function compressLarge(
    response: PlainResponse,
    encoding: Encoding,
    owner: string,
  ): Promise<HttpResponse> {
    return new BytesResponse(await inTurn(owner, response.text, encoding, QUICK[encoding]), response);
  }

  function compressPlain(
    response: PlainResponse,
    { small, large }: Preferred,
    state: RequestState,
  ): HttpResponse | Promise<HttpResponse> {
    const { text, headers } = response;
    // A character has one byte at least, and three at most.
    if (text.length * 3 <= MAX_PLAIN_BYTES) return response;
    // Long ones are not looked through for that.
    const size = text.length > MAX_INLINE_BYTES ? text.length : Buffer.byteLength(text);
    if (size <= MAX_PLAIN_BYTES) return response;
    if (size > MAX_INLINE_BYTES && threads.waiting >= MAX_WAITING) return response;
    describe(headers, size > MAX_INLINE_BYTES ? large : small);
    if (size > MAX_INLINE_BYTES) return compressLarge(response, large, holderOf(state));
    return new BytesResponse(inline[small](text, optionsOf(small, QUICK[small], size)), response);
  }

  async function compressFetched(
    response: Response,
    { small, large }: Preferred,
    owner: string,
  ): Promise<Response> {
    const body = Buffer.from(await response.arrayBuffer());
    const { status } = response;
    const headers = new Headers(response.headers);
    if (body.length <= MAX_PLAIN_BYTES || threads.waiting >= MAX_WAITING)
      return new Response(body.length === 0 ? null : new Uint8Array(body), { status, headers });
    const encoding = body.length > MAX_INLINE_BYTES ? large : small;
    describe(headers, encoding);
    headers.delete('content-length');
    const bytes = await inTurn(owner, body, encoding, QUICK[encoding]);
    return new Response(new Uint8Array(bytes), { status, headers });
  }

  return {
    plain(response, request, state, url) {
      const preferred = preferredFor(request, response.headers);
      if (preferred === undefined) return response;
      // Files are the same for every caller, so they tell nothing about this one.
      if (response instanceof FileResponse) return compressFile(response, preferred.small);
      if (!mayCompress(request, state, url)) return response;
      if (response instanceof PlainResponse) return compressPlain(response, preferred, state);
      return response instanceof StreamResponse
        ? response
        : compressFetched(response, preferred, holderOf(state));
    },
    fetched(response, request, state, url) {
      const preferred = preferredFor(request, response.headers);
      if (preferred === undefined || !mayCompress(request, state, url)) return response;
      // A file of megabytes, open to anybody: compressed once, for plain responses, and not for each request.
      if (response.headers.get('cache-control')?.includes('immutable')) return response;
      return compressFetched(response, preferred, holderOf(state));
    },
  };
}
