import { brotliDecompressSync, gunzipSync } from 'node:zlib';

/** A response in the coding in which it came. */
export interface Encoded {
  readonly status: number;
  readonly headers: Headers;
  /** Undefined where it came as it is. */
  readonly encoding: string | undefined;
  /** How many bytes came. */
  readonly size: number;
  /** Decoded. */
  readonly text: string;
}

/** Reads a response of `app.fetch`, which decodes nothing. */
export async function readEncoded(response: Response): Promise<Encoded> {
  const { status, headers } = response;
  const encoding = headers.get('content-encoding') ?? undefined;
  const bytes = Buffer.from(await response.arrayBuffer());
  const plain =
    encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes;
  return { status, headers, encoding, size: bytes.length, text: plain.toString() };
}
