/** Computes a value on first use and keeps it. If `make` throws, the next call tries again. */
export function memoised<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
