/** Reads a stream of `postCreated` and resumes from its last event id, as EventSource does. */
export class Subscriber {
  readonly #url: string;
  readonly #key: string;
  #lastId: string | undefined;
  #blocks: AsyncGenerator<string> | undefined;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Connects. Resolves once the stream has started. */
  async connect(signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams({ query: 'subscription { postCreated { title author { name } } }' });
    const response = await fetch(`${this.#url}/graphql?${query}`, {
      signal,
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${this.#key}`,
        ...(this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId }),
      },
    });
    if (!response.ok || response.body === null) throw new Error(`the stream was refused: ${response.status}`);
    this.#blocks = this.#read(response.body);
    await this.#blocks.next();
  }

  async *#read(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
    let buffer = '';
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      const blocks = (buffer + decoder.decode(chunk, { stream: true })).split('\n\n');
      buffer = blocks.pop() ?? '';
      for (const block of blocks) {
        this.#lastId = /^id: (.*)$/m.exec(block)?.[1] ?? this.#lastId;
        yield block;
      }
    }
  }

  /** The data of the next event. Undefined if the stream has ended or broken. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const next = await this.#blocks?.next().catch(() => undefined);
      if (next === undefined || next.done) return undefined;
      const data = /^event: next$/m.test(next.value) ? /^data: (.*)$/m.exec(next.value)?.[1] : undefined;
      if (data !== undefined) return data;
    }
  }
}
