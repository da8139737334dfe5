/** Enough for the lists of a page. */
const MAX_ENTRIES = 50;

interface Entry {
  readonly etag: string;
  readonly text: string;
  readonly contentType: string;
}

/** Responses that the service need not send again while they are unchanged. They live in memory, for one account. */
export interface EtagCache {
  /** The header field that asks whether the response has changed. */
  getFields(url: string): Readonly<Record<string, string>>;
  /** Stores a response, and replaces the status 304 by the stored response. */
  complete(url: string, response: Response): Promise<Response>;
}

export function createEtagCache(): EtagCache {
  /** The most recently used entry is the last. */
  const entries = new Map<string, Entry>();

  function store(url: string, entry: Entry): void {
    entries.delete(url);
    entries.set(url, entry);
    const [oldest] = entries.keys();
    if (entries.size > MAX_ENTRIES && oldest !== undefined) entries.delete(oldest);
  }

  return {
    getFields(url): Readonly<Record<string, string>> {
      const entry = entries.get(url);
      return entry === undefined ? {} : { 'if-none-match': entry.etag };
    },
    async complete(url, response) {
      const { status, headers } = response;
      const known = entries.get(url);
      if (status === 304 && known !== undefined) {
        store(url, known);
        const fields = new Headers(headers);
        fields.set('content-type', known.contentType);
        return new Response(known.text, { headers: fields });
      }
      const etag = headers.get('etag');
      if (!response.ok || etag === null) return response;
      const text = await response.text();
      store(url, { etag, text, contentType: headers.get('content-type') ?? '' });
      return new Response(text, { status, headers });
    },
  };
}
