import type { Workload } from '../workloads.ts';

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;
/** The alias that a text never seen has for a title. */
const NEW_ALIAS = /"n\d{10}":/g;

/** Cursors are each server's own, and so is the form of an instant; a table of tags is a list of rows to PostGraphile. */
function common(name: string, value: unknown): unknown {
  if (name === 'cursor' || name === 'endCursor') return typeof value === 'string' && value !== '';
  if (name === 'createdAt') return new Date(String(value)).toISOString();
  if (name === 'tags' && Array.isArray(value))
    return value.map((tag: string | { readonly name: string }) => (typeof tag === 'string' ? tag : tag.name));
  return value;
}

/** The data of a response in the form that all servers' answers must share. */
export function normalised(workload: Workload, text: string): unknown {
  const { data, errors } = JSON.parse(text.replaceAll(NEW_ALIAS, '"title":'), common) as {
    data?: Record<string, unknown>;
    errors?: unknown;
  };
  if (errors !== undefined || data === undefined)
    throw new Error(`${workload} was answered with ${text.slice(0, 500)}`);
  if (workload !== 'W4' && workload !== 'W7') return data;
  const made = data.createPost as { post?: unknown };
  const { id, title } = (made.post ?? made) as { id: string; title: string };
  return { createPost: { id: UUID.test(id), title } };
}
