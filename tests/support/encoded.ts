import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
};

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
  const plain = encoding === undefined ? bytes : DECODERS[encoding]?.(bytes);
  if (plain === undefined) throw new Error(`${encoding} is no coding of the service`);
  return { status, headers, encoding, size: bytes.length, text: plain.toString() };
}
