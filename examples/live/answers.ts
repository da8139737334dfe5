/** Enough for the lists of a page. */
const MAX_KEPT = 50;

interface Kept {
  readonly etag: string;
  readonly text: string;
}

/**
 * Asks by GET, and again with the `ETag` of what came: an answer that is still so is not sent again. Browsers keep nothing
 * that a session was answered, so these are in the memory of the page, for one user. A `fetch` with `If-None-Match` gets
 * the 304 and is not stored (Fetch, section 4.6).
 */
export function createAnswers() {
  /** By address, those that were used last at the end. */
  const kept = new Map<string, Kept>();

  function keep(address: string, { headers }: Response, text: string): void {
    const etag = headers.get('etag');
    kept.delete(address);
    if (etag !== null) kept.set(address, { etag, text });
    const [oldest] = kept.keys();
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest);
  }

  return {
    /** The ids of documents that the service turned out not to have. */
    unknown: new Set<string>(),
    /** The response, whole in any case. */
    async get(address: string, headers: Headers, signal: AbortSignal): Promise<Response> {
      const known = kept.get(address);
      if (known !== undefined) headers.set('if-none-match', known.etag);
      const response = await fetch(address, { headers, signal, credentials: 'include' });
      const isSame = response.status === 304 && known !== undefined;
      const text = isSame ? known.text : await response.text();
      keep(address, response, text);
      return isSame
        ? new Response(text, { headers: { 'content-type': 'application/json' } })
        : new Response(text, response);
    },
  };
}

export type Answers = ReturnType<typeof createAnswers>;
