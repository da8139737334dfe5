import { setTimeout as delay } from 'node:timers/promises';
import type { Http2Client } from './http2-client.ts';

const QUERY = new URLSearchParams({ query: 'subscription { postCreated { id title author { name } } }' });
const DEFAULT_RETRY_MS = 1_000;
const STATUS = ':status';

/** Reads a stream of `postCreated`, and comes back with its last event id whenever it ends, as EventSource does. */
export class Subscriber {
  /** How often each post has arrived, by its id. */
  readonly received = new Map<string, number>();
  /** How often the stream was opened again. */
  reconnects = 0;
  /** What was answered to the request for a stream instead of one, by status. */
  readonly rejections: number[] = [];
  readonly opened: Promise<void>;
  readonly #client: Http2Client;
  readonly #key: string;
  readonly #stopped: AbortSignal;
  readonly #setOpened: () => void;
  #lastId: string | undefined;
  #retryMs = DEFAULT_RETRY_MS;

  constructor(client: Http2Client, key: string, stopped: AbortSignal) {
    this.#client = client;
    this.#key = key;
    this.#stopped = stopped;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.opened = promise;
    this.#setOpened = resolve;
  }

  /** Reads until it is stopped. Never rejects. */
  async follow(): Promise<void> {
    while (!this.#stopped.aborted) {
      await this.#readOnce();
      if (this.#stopped.aborted) return;
      this.reconnects += 1;
      // A clock would make all of them come back at once.
      await delay(this.#retryMs * (0.5 + Math.random() / 2), undefined, { signal: this.#stopped }).catch(
        () => undefined,
      );
    }
  }

  /** Reads one stream to its end, orderly or not. */
  #readOnce(): Promise<void> {
    return new Promise((resolve) => {
      const stream = this.#client.open({
        method: 'GET',
        path: `/graphql?${QUERY}`,
        headers: {
          accept: 'text/event-stream',
          authorization: `Bearer ${this.#key}`,
          ...(this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId }),
        },
      });
      let rest = '';
      stream.setEncoding('utf8');
      stream.on('response', (headers) => {
        const status = Number(headers[STATUS]);
        if (status !== 200) this.rejections.push(status);
      });
      stream.on('data', (part: string) => {
        const blocks = (rest + part).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) this.#take(block);
      });
      const stop = () => stream.close();
      this.#stopped.addEventListener('abort', stop, { once: true });
      // However it ended: it is opened again.
      stream.on('error', () => undefined);
      stream.on('close', () => {
        this.#stopped.removeEventListener('abort', stop);
        resolve();
      });
    });
  }

  #take(block: string): void {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const retry = field('retry');
    if (retry !== undefined) this.#retryMs = Number(retry);
    const id = field('id');
    if (id !== undefined) this.#lastId = id;
    this.#setOpened();
    const data = field('data');
    if (data === undefined || field('event') !== 'next') return;
    const { data: event } = JSON.parse(data) as { data?: { postCreated: { id: string } } };
    const post = event?.postCreated.id;
    if (post === undefined) throw new Error(`a subscriber was told: ${data}`);
    this.received.set(post, (this.received.get(post) ?? 0) + 1);
  }
}
