/**
 * Stands in a response for the instant at which its transaction began, which the database knows. JSON text never
 * contains it: control characters in strings are escaped (RFC 8259 section 7).
 */
export const OPEN_INSTANT = '\u0001';

/** The response with the instant in its places, as the scalar DateTime prints it. */
export function withInstant(text: string, instant: Date): string {
  return text.includes(OPEN_INSTANT) ? text.replaceAll(OPEN_INSTANT, instant.toISOString()) : text;
}
