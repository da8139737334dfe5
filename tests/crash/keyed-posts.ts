import { setTimeout as delay } from 'node:timers/promises';
import { endOfTest } from '../support/processes/process.ts';

/** Where the service is at the moment; a promise of it while it starts. */
export interface Target {
  origin(): Promise<string>;
}

/** What a client was told at last, and what else it was told on the way. */
export interface Told {
  readonly text: string;
  readonly replayed: boolean;
}

export interface Clients {
  /** Sends every request until it is answered with 200. Resolves once all are. */
  run(): Promise<void>;
  /** The title of each post, and the response to its request. */
  readonly told: ReadonlyMap<string, Told>;
  /** How often each HTTP status was the response; `lost` is none at all. */
  readonly statuses: ReadonlyMap<string, number>;
}

const CREATE_POST =
  'mutation ($title: String!) { createPost(title: $title, body: "kept", tags: ["crash"]) { id title createdAt } }';
const CREATE_DRAFT =
  'mutation ($title: String!) { createDraft(title: $title, body: "kept", tags: ["crash"]) { id } }';
const PUBLISH_DRAFT = 'mutation ($id: ID!) { publishDraft(id: $id) { id title createdAt } }';
/** How requests are done, in turn: by one statement, or in a transaction, since a statement does not tell its cost. */
export type Ways = readonly ('statement' | 'transaction')[];

const HEADERS = { statement: {}, transaction: { 'x-show-cost': '1' } };
const RETRY_MS = 10;
/** Only ends a request that hangs: a connection breaks as soon as the process at its other end is killed. */
const PATIENCE_MS = 120_000;

interface Asked {
  readonly origin: string;
  readonly apiKey: string;
  readonly idempotencyKey: string;
  readonly way?: Ways[number] | undefined;
}

interface Responded {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
}

/** Sends a keyed mutation. Undefined where the connection was lost: nobody knows whether it was done. */
async function sendKeyed(
  { origin, apiKey, idempotencyKey, way = 'statement' }: Asked,
  query: string,
  variables: object,
): Promise<Responded | undefined> {
  try {
    const response = await fetch(`${origin}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${apiKey}`,
        'idempotency-key': idempotencyKey,
        ...HEADERS[way],
      },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const replayed = response.headers.get('idempotency-replayed') === 'true';
    return { status: response.status, text: await response.text(), replayed };
  } catch {
    return undefined;
  }
}

/** Makes the post with a title by one keyed mutation or several. */
export type MakePost = (
  origin: string,
  apiKey: string,
  title: string,
  options?: { readonly idempotencyKey?: string; readonly way?: Ways[number] | undefined },
) => Promise<Responded | undefined>;

export const createPost: MakePost = (origin, apiKey, title, { idempotencyKey, way } = {}) =>
  sendKeyed({ origin, apiKey, idempotencyKey: idempotencyKey ?? `key of ${title}`, way }, CREATE_POST, {
    title,
  });

/** Creates a draft and publishes the draft, each under a separate key. */
export const publishDraft: MakePost = async (origin, apiKey, title) => {
  const draft = await sendKeyed({ origin, apiKey, idempotencyKey: `draft of ${title}` }, CREATE_DRAFT, {
    title,
  });
  if (draft?.status !== 200) return draft;
  const { id } = JSON.parse(draft.text).data.createDraft;
  return sendKeyed({ origin, apiKey, idempotencyKey: `key of ${title}` }, PUBLISH_DRAFT, { id });
};

/** So many clients at a time that share the titles among them and do not give up before the test ends. */
export function createClients(
  target: Target,
  apiKey: string,
  titles: readonly string[],
  { atATime, ways, make }: { readonly atATime: number; readonly ways: Ways; readonly make: MakePost },
): Clients {
  const told = new Map<string, Told>();
  const statuses = new Map<string, number>();
  const waiting = [...titles];
  const ended = endOfTest();
  let requests = 0;

  async function ask(title: string): Promise<void> {
    for (;;) {
      ended.throwIfAborted();
      const way = ways[requests++ % ways.length];
      const result = await make(await target.origin(), apiKey, title, { way });
      const status = String(result?.status ?? 'lost');
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (result?.status === 200) {
        told.set(title, result);
        return;
      }
      await delay(RETRY_MS);
    }
  }

  async function client(): Promise<void> {
    for (let title = waiting.shift(); title !== undefined; title = waiting.shift()) await ask(title);
  }

  return {
    told,
    statuses,
    run: async () => void (await Promise.all(Array.from({ length: atATime }, client))),
  };
}
