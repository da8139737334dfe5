import { createHmac } from 'node:crypto';
import { type DocumentNode, print } from 'graphql';

const printed = new WeakMap<DocumentNode, string>();

/** The document without what means nothing: white space, commas, comments. */
function normalised(document: DocumentNode): string {
  let text = printed.get(document);
  if (text === undefined) {
    text = print(document);
    printed.set(document, text);
  }
  return text;
}

/** JSON with the members of objects in one order, whatever order the client wrote them in. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, canonical(member)]),
  );
}

/**
 * What makes two requests the same mutation: document, operation and variables (contract section 6). Keyed by the
 * idempotency key, since variables may hold a password, which a plain digest would let a reader of the table guess.
 */
export function fingerprint(
  key: string,
  document: DocumentNode,
  operationName: string | undefined,
  variables: unknown,
): Buffer {
  const text = JSON.stringify([normalised(document), operationName ?? null, canonical(variables ?? {})]);
  return createHmac('sha256', key).update(text).digest();
}
