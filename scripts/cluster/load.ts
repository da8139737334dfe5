import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Http2Client, Response } from './http2-client.ts';

/** A request that was made, in milliseconds of the monotonic clock. */
export interface Outcome {
  readonly kind: Kind;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Why it counts as failed. */
  readonly failure: string | undefined;
}

export const KINDS = ['query', 'mutation', 'mutation with a key'] as const;

export type Kind = (typeof KINDS)[number];

/** Of ten requests, seven read and three write. */
const MIX: readonly Kind[] = [
  'query',
  'query',
  'mutation',
  'query',
  'query',
  'mutation with a key',
  'query',
  'query',
  'query',
  'mutation with a key',
];
const LIST = '{ posts(limit: 20) { id title createdAt author { id name } } }';
const CREATE = 'mutation ($title: String!) { createPost(title: $title, body: "From the demo.") { id } }';
const RETRY_MS = 500;

function failureOf({ status, text }: Response): string | undefined {
  return status === 200 && !text.includes('"errors"')
    ? undefined
    : `${status} ${text.replaceAll(/\s+/g, ' ').slice(0, 80)}`;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Requests at a fixed rate, whatever becomes of them. */
export class MixedLoad {
  readonly outcomes: Outcome[] = [];
  /** The titles of the posts that were asked for with an Idempotency-Key. Each must be there once. */
  readonly keyedTitles: string[] = [];
  readonly #client: Http2Client;
  readonly #key: string;
  readonly #pending = new Set<Promise<void>>();
  #count = 0;

  constructor(client: Http2Client, key: string) {
    this.#client = client;
    this.#key = key;
  }

  /** How many requests wait for their response. */
  get inFlight(): number {
    return this.#pending.size;
  }

  /** Sends `perSecond` requests a second until it is stopped, then waits for the last responses. */
  async run(perSecond: number, stopped: AbortSignal): Promise<void> {
    const startedMs = performance.now();
    for (let sent = 0; !stopped.aborted; sent += 1) {
      const dueMs = startedMs + (sent * 1_000) / perSecond;
      await delay(Math.max(0, dueMs - performance.now()));
      const kind = MIX[sent % MIX.length] ?? 'query';
      const request = this.#request(kind);
      this.#pending.add(request);
      void request.finally(() => this.#pending.delete(request));
    }
    await Promise.all(this.#pending);
  }

  async #request(kind: Kind): Promise<void> {
    this.#count += 1;
    const title = `${kind} ${this.#count}`;
    const keyed = kind === 'mutation with a key';
    if (keyed) this.keyedTitles.push(title);
    const body = kind === 'query' ? { query: LIST } : { query: CREATE, variables: { title } };
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${this.#key}`,
      ...(keyed ? { 'idempotency-key': `"${randomUUID()}"` } : {}),
    };
    const send = () =>
      this.#client.send({ method: 'POST', path: '/graphql', headers, body: JSON.stringify(body) });
    const attempt = () => send().then(failureOf, reasonOf);
    const startedMs = performance.now();
    const failure = await attempt();
    this.outcomes.push({ kind, startedMs, endedMs: performance.now(), failure });
    // What a client with a key does: it asks again until it is told.
    for (let told = failure === undefined; keyed && !told; told = (await attempt()) === undefined)
      await delay(RETRY_MS);
  }
}
