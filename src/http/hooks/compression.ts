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
import { chargedTo } from '../../auth/principal.ts';
import { memoize } from '../../platform/cache.ts';
import { FairQueue } from '../../platform/fairness/fair-queue.ts';
import type { AdmittedRequest } from '../exchange.ts';
import type { AskedRequest } from '../lifecycle.ts';
import type { HttpResponse, RequestUrl } from '../message.ts';

export type Encoding = 'br' | 'zstd' | 'gzip';

/** The best coding depends on the size of the response. */
interface Preferred {
  readonly small: Encoding;
  readonly large: Encoding;
}

/**
 * The preferred coding comes first. br costs less up to about 16 KiB, and zstd saves more beyond
 * (decisions/0026-response-compression.md).
 */
const SMALL: readonly Encoding[] = ['br', 'zstd', 'gzip'];
const LARGE: readonly Encoding[] = ['zstd', 'br', 'gzip'];

/** Recipients treat `x-gzip` as gzip (RFC 9110 §8.4.1.3). */
const ALIASES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip' };

/** A malformed weight is NaN (RFC 9110 §12.4.2). */
function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  if (given === undefined) return 1;
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given.slice(2)) : Number.NaN;
}

/**
 * Codings are ordered by weight (RFC 9110 §12.5.3), then by the service's preference. A coding that is not listed has
 * the weight of `*`.
 */
const preferredEncodings = memoize((acceptEncoding): Preferred | undefined => {
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = member.split(';').map((piece) => piece.trim());
    weights.set(ALIASES[name] ?? name, weightOf(parameters));
  }
  const weight = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  // Identity is acceptable unless excluded, but wins only if it is listed with a higher weight.
  const asIs = weights.get('identity') ?? 0;
  const first = (encodings: readonly Encoding[]) =>
    encodings
      .filter((name) => weight(name) > 0 && weight(name) >= asIs)
      .sort((a, b) => weight(b) - weight(a))[0];
  const [small, large] = [first(SMALL), first(LARGE)];
  return small && large && { small, large };
});

/** Most responses up to this size fit into one packet (contract: compression). */
const MAX_PLAIN_BYTES = 1_024;
/** Up to this size, a hop to another thread costs more than the compression, which takes 0.2 ms at most. */
const MAX_INLINE_BYTES = 16_384;
/** libuv has four threads. The others hash passwords and resolve names. */
const THREADS = 2;
/** Responses are sent uncompressed while this many responses wait. */
const MAX_WAITING = 256;

/** Another site can make a browser send these parameters (BREACH). */
const EXCLUDED_PARAMETERS = ['api_key', 'stream_token'];
const COMPRESSIBLE =
  /^(?:text\/(?!event-stream)|application\/(?:json|[\w.-]+\+json|javascript)\b|image\/svg)/;

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT, ZSTD_c_compressionLevel } = constants;
/** Higher levels save a twentieth more for up to twice the CPU (decisions/0026-response-compression.md). */
const QUICK = { br: 1, zstd: 3, gzip: 1 };
/** Files are compressed only once, so higher levels pay. */
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

/** `size` is in bytes. For a long string, `size` is a lower bound. */
interface Coding {
  readonly encoding: Encoding;
  readonly size: number;
}

function mayCompress(
  { operation }: HttpResponse,
  { headers }: AskedRequest,
  { route, credentials: { place } }: AdmittedRequest,
  { search, searchParams }: RequestUrl,
): boolean {
  if (operation !== undefined && operation.kind !== 'query') return false;
  if (place !== undefined && place !== 'authorization') return false;
  if (headers.has('cookie') || !route.compressible) return false;
  return search === '' || !EXCLUDED_PARAMETERS.some((name) => searchParams.has(name));
}

function isCompressible(headers: HttpResponse['headers']): boolean {
  return !headers.has('content-encoding') && COMPRESSIBLE.test(headers.get('content-type') ?? '');
}

/** A character has one to three bytes. Only strings for which that leaves a doubt are measured. */
function sizeOf(content: string | Buffer): number {
  if (typeof content !== 'string' || content.length > MAX_INLINE_BYTES) return content.length;
  return content.length * 3 <= MAX_PLAIN_BYTES ? content.length : Buffer.byteLength(content);
}

/** Clients that accept no coding cost one look at a header. */
export function createCompression() {
  const threads = new FairQueue({ concurrency: THREADS });
  /** All responses of a file share its bytes, which are the key. */
  const files = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

  // Waiting responses hold no copy.
  const withSlot = (owner: string | undefined, content: string | Buffer, encoding: Encoding, level: number) =>
    threads.measured(owner, async () => {
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
      return inThread[encoding](bytes, optionsOf(encoding, level, bytes.length));
    });

  /** A compressed file serves every caller, so no account is charged for the work. */
  function fileIn(encoding: Encoding, bytes: Buffer): Promise<Buffer> {
    const known = files.get(bytes) ?? new Map<Encoding, Promise<Buffer>>();
    files.set(bytes, known);
    const compressed = known.get(encoding) ?? withSlot(undefined, bytes, encoding, THOROUGH[encoding]);
    known.set(encoding, compressed);
    compressed.catch(() => known.delete(encoding));
    return compressed;
  }

  return {
    choose(
      response: HttpResponse,
      request: AskedRequest,
      admitted: AdmittedRequest,
      url: RequestUrl,
    ): Coding | undefined {
      const accepted = request.headers.get('accept-encoding');
      const { whole, isFile, cookies, headers } = response;
      if (accepted === null || whole === undefined || cookies.length > 0) return undefined;
      const preferred = preferredEncodings(accepted);
      if (preferred === undefined || !isCompressible(headers)) return undefined;
      // A file is identical for every caller, so its length reveals nothing about this caller.
      if (!isFile && !mayCompress(response, request, admitted, url)) return undefined;
      const size = sizeOf(whole);
      if (size <= MAX_PLAIN_BYTES) return undefined;
      if (isFile || size <= MAX_INLINE_BYTES) return { encoding: preferred.small, size };
      return threads.waitingCount < MAX_WAITING ? { encoding: preferred.large, size } : undefined;
    },
    encode(
      response: HttpResponse,
      { encoding, size }: Coding,
      admitted: AdmittedRequest,
    ): Promise<void> | void {
      const content = response.whole ?? '';
      const replaceWith = (bytes: Buffer) => {
        response.body = bytes;
      };
      if (response.isFile && typeof content !== 'string') return fileIn(encoding, content).then(replaceWith);
      if (size > MAX_INLINE_BYTES)
        return withSlot(chargedTo(admitted), content, encoding, QUICK[encoding]).then(replaceWith);
      return replaceWith(inline[encoding](content, optionsOf(encoding, QUICK[encoding], size)));
    },
  };
}

export type Compression = ReturnType<typeof createCompression>;
