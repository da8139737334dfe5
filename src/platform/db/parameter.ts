import type { Parameter } from './statement.ts';

/** An instant in PostgreSQL's format, including the years to which ISO 8601 adds a sign. */
export function instantText(date: Date): string {
  const text = date.toISOString();
  const year = date.getUTCFullYear();
  if (year >= 1 && year <= 9999) return text;
  const rest = text.slice(text.indexOf('-', 1));
  return year < 1 ? `${String(1 - year).padStart(4, '0')}${rest} BC` : `${year}${rest}`;
}

const quoted = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

/** A parameter as it is sent, in PostgreSQL's text format; bytes stay as they are. */
export function encodeParameter(value: Parameter): string | Buffer | null {
  if (value === null || typeof value === 'string') return value;
  if (value instanceof Date) return instantText(value);
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  if (typeof value === 'object')
    return `{${value.map((item) => (typeof item === 'string' ? quoted(item) : (item ?? 'NULL'))).join()}}`;
  return String(value);
}
