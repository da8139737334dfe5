import { createHmac } from 'node:crypto';
import { print } from 'graphql';
import type { PreparedOperation } from '../prepared-operation.ts';

/** The document without insignificant white space, commas and comments. */
function normalised({ document }: PreparedOperation): string {
  document.normalised ??= print(document.node);
  return document.normalised;
}

/**
 * JSON with the members of objects in canonical order. Not recursive: variables are not validated yet, and
 * may be nested deeper than the stack allows.
 */
function canonicalJson(root: unknown): string {
  let text = '';
  const pending: (string | { readonly value: unknown })[] = [{ value: root }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next === 'string') {
      text += next;
      continue;
    }
    const { value } = next;
    if (typeof value !== 'object' || value === null) {
      text += JSON.stringify(value) ?? 'null';
      continue;
    }
    const isArray = Array.isArray(value);
    const members = isArray
      ? value.map((item): [string, unknown] => ['', item])
      : Object.entries(value)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .map(([name, member]): [string, unknown] => [`${JSON.stringify(name)}:`, member]);
    text += isArray ? '[' : '{';
    pending.push(isArray ? ']' : '}');
    // On a stack the last member is pushed first.
    members.reverse().forEach(([prefix, member], index) => {
      const isFirst = index === members.length - 1;
      pending.push({ value: member }, isFirst ? prefix : `,${prefix}`);
    });
  }
  return text;
}

/**
 * Identifies a mutation by document, operation and variables (contract section 6). Keyed by the idempotency
 * key: variables may contain a password, which a plain digest would let a reader of the table guess.
 */
export function fingerprint(key: string, operation: PreparedOperation, variables: unknown): Buffer {
  const text = canonicalJson([normalised(operation), operation.name ?? null, variables ?? {}]);
  return createHmac('sha256', key).update(text).digest();
}
