export interface ToldError {
  readonly message?: unknown;
  readonly path?: readonly (string | number)[] | undefined;
  readonly extensions: unknown;
}

/**
 * What the errors of a response promise, to compare two answers. Of several fields that make one place of `data` null,
 * any may be the one that is told of (GraphQL section 6.4.4), and errors have no order: such a place is told once,
 * without the error; an error of a place of its own is told whole. In a fixed order.
 */
export function toldErrors(data: unknown, errors: readonly ToldError[]): readonly string[] {
  const told = errors.map((error) => {
    const path = error.path ?? [];
    const depth = nullDepth(data, path);
    return JSON.stringify(depth === path.length ? error : { nullAt: path.slice(0, depth) });
  });
  return [...new Set(told)].sort();
}

/** How many names of the path lead to its first null. */
function nullDepth(data: unknown, path: readonly (string | number)[]): number {
  let value = data;
  for (const [depth, name] of path.entries()) {
    if (value === null || typeof value !== 'object') return depth;
    value = (value as Readonly<Record<string | number, unknown>>)[name];
  }
  return path.length;
}
