import { setImmediate as turn } from 'node:timers/promises';
import type { Caller } from '../auth/principal.ts';
import { deletion } from '../jobs/job.ts';
import { digestOf } from '../operation/document/digest.ts';
import type { PreparedDocument } from '../operation/prepared-operation.ts';
import { isOutage } from '../platform/db/errors.ts';
import { type Queryable, statement } from '../platform/db/statement.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import { reportedClient } from '../request/caller.ts';

export interface TextUsesOptions {
  readonly database: Queryable;
  readonly metrics: Metrics;
  /** Whether texts count that are published, too: those of clients that could send their ids. */
  readonly all: boolean;
  readonly log: Logger;
}

/** Which clients send texts where they could name documents. */
export interface TextUses {
  /** Counts a use. Costs its caller a few look-ups; nobody waits for the database. */
  note(caller: Caller | undefined, document: PreparedDocument): void;
  /** Stores what was counted, and stops. */
  close(): Promise<void>;
}

interface Use {
  readonly names: string | undefined;
  count: number;
}

interface Client {
  readonly kind: string;
  readonly texts: Map<string, Use>;
}

const FLUSH_MS = 10_000;
/** Between two flushes. Texts beyond count together for each client, and clients beyond as one. */
const MAX_CLIENTS = 1_000;
const MAX_TEXTS = 500;
const MAX_NAMES = 100;
/** As of texts that are cached: longer ones are rare, and would fill the memory. */
const MAX_LENGTH = 10_000;
/** Digests that are computed at a time: each takes up to some tenths of a millisecond. */
const AT_A_TIME = 8;
/** Rows kept of a client, and of all. */
const MAX_ROWS_OF_CLIENT = 100;
const MAX_ROWS = 10_000;
/** Stands for all texts beyond. */
const OTHERS = '';
const NO_DIGEST = '\\x';

const STORE = statement<{ client: string; count: number }>(
  'text_uses_store',
  `WITH given AS (
     SELECT g.*, NOT EXISTS (
       SELECT FROM trusted_documents d JOIN document_publications p ON p.document_id = d.id WHERE d.digest = g.digest
     ) AS unpublished
     FROM unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::float8[]) AS g (client, kind, digest, names, count)
   ), placed AS (
     SELECT g.client, g.kind, g.names, g.count, CASE WHEN k.client IS NOT NULL
       OR row_number() OVER (PARTITION BY g.client, k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM text_uses c WHERE c.client = g.client) <= ${MAX_ROWS_OF_CLIENT}
       AND row_number() OVER (PARTITION BY k.client IS NULL ORDER BY g.count DESC)
         + (SELECT count(*) FROM text_uses) <= ${MAX_ROWS}
       THEN g.digest ELSE ''::bytea END AS digest
     FROM given g LEFT JOIN text_uses k ON k.client = g.client AND k.digest = g.digest
     WHERE g.unpublished OR $6
   ), stored AS (
     INSERT INTO text_uses AS u (client, kind, digest, operation_name, count)
     SELECT client, min(kind), digest, CASE WHEN digest <> '' THEN min(names) END, sum(count)
     FROM placed GROUP BY client, digest ORDER BY client, digest
     ON CONFLICT (client, digest) DO UPDATE SET count = u.count + excluded.count, last_used_at = now()
   )
   SELECT client, sum(count) AS count FROM given WHERE unpublished GROUP BY client`,
);

/** Texts that nobody has sent for 30 days. */
export const oldTextUses = deletion('text_uses', {
  table: 'text_uses',
  key: 'client, digest',
  condition: "last_used_at <= now() - interval '30 days'",
});

/** Counts in memory and stores from time to time: a process that is killed loses what it has counted since. */
export function createTextUses({ database, metrics, all, log }: TextUsesOptions): TextUses {
  const unpublished = metrics.tally(
    'graphql_unpublished_texts_total',
    'Operations asked for by a text that is not that of a published document, by client.',
    ['client'],
  );
  const told = new Set<string>();
  let clients = new Map<string, Client>();
  let texts = 0;

  function add(client: string, kind: string, text: string, count: number, names: string | undefined): void {
    const known = clients.get(client);
    if (known === undefined && clients.size >= MAX_CLIENTS && client !== OTHERS) {
      add(OTHERS, OTHERS, OTHERS, count, undefined);
      return;
    }
    const { texts: uses } = known ?? { texts: new Map<string, Use>() };
    if (known === undefined) clients.set(client, { kind, texts: uses });
    const use = uses.get(text);
    if (use !== undefined) use.count += count;
    else if (texts < MAX_TEXTS || text === OTHERS) {
      texts += 1;
      uses.set(text, { names: names?.slice(0, MAX_NAMES), count });
    } else add(client, kind, OTHERS, count, undefined);
  }

  /** The columns of what was counted. */
  async function columnsOf(counted: ReadonlyMap<string, Client>) {
    const columns = {
      client: [] as string[],
      kind: [] as string[],
      digest: [] as string[],
      names: [] as (string | null)[],
      count: [] as number[],
    };
    let computed = 0;
    for (const [client, { kind, texts: uses }] of counted)
      for (const [text, { names, count }] of uses) {
        columns.client.push(client === OTHERS ? 'others' : client);
        columns.kind.push(client === OTHERS ? 'others' : kind);
        columns.digest.push(text === OTHERS ? NO_DIGEST : digestOf(text));
        columns.names.push(names ?? null);
        columns.count.push(count);
        computed += 1;
        if (computed % AT_A_TIME === 0) await turn();
      }
    return columns;
  }

  function tell(client: string): string {
    if (!told.has(client) && told.size >= MAX_CLIENTS) return 'others';
    told.add(client);
    return client;
  }

  async function flush(): Promise<void> {
    const counted = clients;
    if (counted.size === 0) return;
    clients = new Map();
    texts = 0;
    try {
      const { client, kind, digest, names, count } = await columnsOf(counted);
      const rows = await database.query(STORE, [client, kind, digest, names, count, all]);
      for (const { client: of, count: times } of rows) unpublished.add(tell(of), '', times);
    } catch (error) {
      log[isOutage(error) ? 'debug' : 'warn'](
        { err: error },
        'could not store which texts clients send; keeping them',
      );
      for (const [client, { kind, texts: uses }] of counted)
        for (const [text, { names, count }] of uses) add(client, kind, text, count, names);
    }
  }

  let flushing = Promise.resolve();
  const next = (): Promise<void> => {
    flushing = flushing.then(flush);
    return flushing;
  };
  const timer = setInterval(next, FLUSH_MS).unref();

  return {
    note(caller, document) {
      const { client, kind } = reportedClient(caller);
      const text = document.text.length > MAX_LENGTH ? OTHERS : document.text;
      const use = clients.get(client)?.texts.get(text);
      if (use !== undefined) use.count += 1;
      else add(client, kind, text, 1, text === OTHERS ? undefined : document.names);
    },
    close() {
      clearInterval(timer);
      return next();
    },
  };
}
