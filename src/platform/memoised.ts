/** Makes a value when it is first asked for, and keeps it. What throws is tried again the next time. */
export function memoised<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
