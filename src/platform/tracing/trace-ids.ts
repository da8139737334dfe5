interface Known {
  /** Undefined while several requests with the same id are being answered: clients may choose it. */
  traceId: string | undefined;
  requests: number;
}

const known = new Map<string, Known>();

/**
 * The trace of a request that is being answered, by its id, for whoever logs that id; undefined if it has none. Returns what
 * forgets it.
 */
export function rememberTrace(requestId: string, traceId: string | undefined): () => void {
  const entry = known.get(requestId);
  if (entry === undefined) known.set(requestId, { traceId, requests: 1 });
  else {
    entry.traceId = undefined;
    entry.requests += 1;
  }
  return () => {
    const left = known.get(requestId);
    if (left === undefined) return;
    left.requests -= 1;
    if (left.requests === 0) known.delete(requestId);
  };
}

export const traceIdOf = (requestId: unknown): string | undefined =>
  known.size === 0 || typeof requestId !== 'string' ? undefined : known.get(requestId)?.traceId;
