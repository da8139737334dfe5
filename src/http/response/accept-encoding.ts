import { remember } from '../../platform/small-map.ts';

export type Encoding = 'br' | 'zstd' | 'gzip';

/** The content codings that a client likes best, by the size of the response. */
export interface Preferred {
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
export const preferredEncodings = remember((acceptEncoding): Preferred | undefined => {
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
