const MAX_KEPT = 200;
const MAX_LENGTH = 200;

/**
 * Caches the results of a pure function, for inputs that nearly every request repeats, such as an Accept
 * header. Bounded: long texts are not cached, and a full cache is cleared.
 */
export function remember<T>(compute: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>();
  return (text) => {
    const known = kept.get(text);
    if (known !== undefined || kept.has(text)) return known as T;
    const result = compute(text);
    if (text.length > MAX_LENGTH) return result;
    if (kept.size >= MAX_KEPT) kept.clear();
    kept.set(text, result);
    return result;
  };
}
