/**
 * Lets all callers that wait share one call of `read`, which begins after they have come: none gets a result
 * that is older than its call. At most one call runs at a time. Rejects with what `read` throws.
 */
export function sharedByNext<T>(read: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined;
  let next: Promise<T> | undefined;

  function begin(): Promise<T> {
    next = undefined;
    const result = read();
    const settled = () => {
      // Otherwise the next call begins right away.
      if (next === undefined && running === finished) running = undefined;
    };
    const finished: Promise<unknown> = result.then(settled, settled);
    running = finished;
    return result;
  }

  return () => {
    if (running === undefined) return begin();
    next ??= running.then(begin);
    return next;
  };
}
