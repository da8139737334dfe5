/** The promise; rejects with what is missing when the time is over first. */
export async function within<T>(limitMs: number, missing: () => string, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`after ${limitMs} ms ${missing()}`)), limitMs);
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
