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

/** The content codings that a client likes best, by the size of the response. */
interface Preferred {
  readonly small: Encoding;
  readonly large: Encoding;
}

/** Ours, the preferred one first: br costs less up to about 16 KiB, and beyond zstd saves more (decision 26). */
const SMALL: readonly Encoding[] = ['br', 'zstd', 'gzip'];
const LARGE: readonly Encoding[] = ['zstd', 'br', 'gzip'];

/** Recipients treat it as gzip (RFC 9110 section 8.4.1.3). */
const ALIASES: Readonly<Record<string, string>> = { 'x-gzip': 'gzip' };

/** A weight from 0 to 1; NaN if it is malformed (RFC 9110 section 12.4.2). */
function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  if (given === undefined) return 1;
  return /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(given) ? Number(given.slice(2)) : Number.NaN;
}

/**
 * The codings that an Accept-Encoding header prefers (RFC 9110 section 12.5.3); undefined for none. By weight, then by our
 * own order. A coding that is not named has the weight of `*`.
 */
const preferredEncodings = memoize((acceptEncoding): Preferred | undefined => {
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = member.split(';').map((piece) => piece.trim());
    weights.set(ALIASES[name] ?? name, weightOf(parameters));
  }
  const weight = (name: string) => weights.get(name) ?? weights.get('*') ?? 0;
  // Identity is acceptable unless it is excluded, and wins only where it is named with a higher weight.
  const asIs = weights.get('identity') ?? 0;
  const first = (encodings: readonly Encoding[]) =>
    encodings
      .filter((name) => weight(name) > 0 && weight(name) >= asIs)
      .sort((a, b) => weight(b) - weight(a))[0];
  const [small, large] = [first(SMALL), first(LARGE)];
  return small && large && { small, large };
});

/** Contract section 2: responses up to this size stay as they are. Most fit into one packet then. */
const MAX_PLAIN_BYTES = 1_024;
/** Up to this size a hop to another thread costs more than the work, which takes 0.2 ms at most. */
const MAX_INLINE_BYTES = 16_384;
/** Two of libuv's four threads: the others hash passwords and look up names. */
const THREADS = 2;
/** If more wait, responses go out as they are. */
const MAX_WAITING = 256;

/** Their responses depend on what another site can make a browser send (BREACH). */
const EXCLUDED_PARAMETERS = ['api_key', 'stream_token'];
const COMPRESSIBLE =
  /^(?:text\/(?!event-stream)|application\/(?:json|[\w.-]+\+json|javascript)\b|image\/svg)/;

const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT, ZSTD_c_compressionLevel } = constants;
/** For responses made for one caller. Higher levels save a twentieth more, for up to twice the CPU (decision 26). */
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

/** What is chosen for a response. `size` is in bytes; of a long text, the least that it can be. */
interface Coding {
  readonly encoding: Encoding;
  readonly size: number;
}

/** Whether a response made for this caller may be compressed (contract section 2). */
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

/** Whether a response has a text that gets shorter. */
function isCompressible(headers: HttpResponse['headers']): boolean {
  return !headers.has('content-encoding') && COMPRESSIBLE.test(headers.get('content-type') ?? '');
}

/** In bytes. A character has one at least and three at most: only texts about which that leaves a doubt are measured. */
function sizeOf(content: string | Buffer): number {
  if (typeof content !== 'string' || content.length > MAX_INLINE_BYTES) return content.length;
  return content.length * 3 <= MAX_PLAIN_BYTES ? content.length : Buffer.byteLength(content);
}

/**
 * Gives responses over 1 KiB the coding that their clients prefer, or leaves them as they are. Costs clients that ask for none
 * one look at a header.
 */
export function createCompression() {
  const threads = new FairQueue({ concurrency: THREADS });
  /** By the bytes of the file, which all of its responses share. */
  const files = new WeakMap<Buffer, Map<Encoding, Promise<Buffer>>>();

  // Those who wait keep no copy.
  const withSlot = (owner: string | undefined, content: string | Buffer, encoding: Encoding, level: number) =>
    threads.measured(owner, async () => {
      const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content);
      return inThread[encoding](bytes, optionsOf(encoding, level, bytes.length));
    });

  /** Compresses a file at its first use: for everybody, so it is the service's own work. */
  function fileIn(encoding: Encoding, bytes: Buffer): Promise<Buffer> {
    const known = files.get(bytes) ?? new Map<Encoding, Promise<Buffer>>();
    files.set(bytes, known);
    const compressed = known.get(encoding) ?? withSlot(undefined, bytes, encoding, THOROUGH[encoding]);
    known.set(encoding, compressed);
    compressed.catch(() => known.delete(encoding));
    return compressed;
  }

  return {
    /** The coding for a response; undefined if it stays as it is. */
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
      // Files are the same for every caller, so they tell nothing about this one.
      if (!isFile && !mayCompress(response, request, admitted, url)) return undefined;
      const size = sizeOf(whole);
      if (size <= MAX_PLAIN_BYTES) return undefined;
      if (isFile || size <= MAX_INLINE_BYTES) return { encoding: preferred.small, size };
      return threads.waitingCount < MAX_WAITING ? { encoding: preferred.large, size } : undefined;
    },
    /** Gives the response the coding that was chosen for it. */
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
