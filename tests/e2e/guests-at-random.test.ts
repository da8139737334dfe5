import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  enter,
  enterLater,
  type Guest,
  lookAfresh,
  UNTOUCHED,
  useEmbeddedApp,
} from '../support/database/guests.ts';
import { send } from '../support/keyed.ts';
import type { LogLine } from '../support/log-lines.ts';

const app = useEmbeddedApp();
const ROUNDS = 20;
const AT_ONCE = 10;
const ERROR = 50;

/** A setting of PostgreSQL that any session may set. */
interface Setting {
  readonly name: string;
  readonly kind: 'bool' | 'enum' | 'integer' | 'real' | 'string';
  readonly least: number;
  readonly most: number;
  readonly values: readonly string[];
}

const SETTINGS = `SELECT json_build_object('name', name, 'kind', vartype, 'least', min_val::float8, 'most', max_val::float8,
    'values', COALESCE(enumvals, ARRAY[COALESCE(boot_val, '')]))
  FROM pg_settings WHERE context IN ('user', 'superuser') AND name <> ALL (ARRAY[
    -- An error of the guest then ends the backend, as PostgreSQL says: guests-in-the-way.test.ts.
    'exit_on_error',
    -- A transaction that takes longer ends the backend, too.
    'transaction_timeout',
    -- With more than there is memory for, the first temporary table ends the backend.
    'temp_buffers'])
  ORDER BY name`;

/** What a setting may be, where it is a text, beside its default. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  search_path: ['', 'pg_catalog', 'guests, public', 'pg_temp, public'],
  // PGlite ends with others, whose conversions it does not bring.
  client_encoding: ['LATIN1', 'SQL_ASCII', 'UTF8'],
  TimeZone: ['Asia/Kathmandu', 'America/Caracas', '-13'],
  DateStyle: ['German', 'SQL, DMY', 'Postgres, YMD'],
  default_text_search_config: ['pg_catalog.german', 'simple'],
  restrict_nonsystem_relation_kind: ['view, foreign-table'],
  wal_consistency_checking: ['all'],
  session_preload_libraries: ['nothing'],
};

/** A step of a guest: SQL, or what the protocol prepares by name. */
type Step = string | { readonly named: string; readonly text: string };

/** How it goes. */
type End = 'leaves' | 'dies' | 'waits';

const asText = (number: number) => number.toFixed(3);

function drawn({ name, kind, least, most, values }: Setting): fc.Arbitrary<string> {
  if (kind === 'bool') return fc.constantFrom('on', 'off');
  if (kind === 'enum') return fc.constantFrom(...values);
  if (kind === 'string') return fc.constantFrom(...values, ...(TEXTS[name] ?? ['', 'x']));
  if (kind === 'real') return fc.double({ min: least, max: Math.min(most, 1e6), noNaN: true }).map(asText);
  return fc.integer({ min: least, max: Math.min(most, 2 ** 31 - 1) }).map(String);
}

const setting = (one: Setting) =>
  drawn(one).map((text) => `SELECT set_config('${one.name}', '${text.replaceAll("'", "''")}', false)`);

/** Few names: guests meet. */
const place = fc.integer({ min: 1, max: 3 });
const sql = (...texts: string[]) =>
  fc.tuple(fc.constantFrom(...texts), place).map(([text, at]) => text.replaceAll('#', `${at}`));

const LEFT = sql(
  'PREPARE guest_# AS SELECT #',
  'EXECUTE guest_#',
  'DEALLOCATE guest_#',
  'CREATE TEMP TABLE guest_t# (n serial PRIMARY KEY, t text)',
  'CREATE TEMP TABLE posts AS SELECT # AS n',
  'CREATE TEMP VIEW users AS SELECT # AS id',
  "INSERT INTO guest_t# (t) SELECT repeat('x', n) FROM generate_series(1, 50) AS n",
  'DROP TABLE IF EXISTS guest_t#',
  'CREATE FUNCTION pg_temp.guest_f#() RETURNS int RETURN #',
  "CREATE TYPE pg_temp.guest_e# AS ENUM ('a')",
  'DECLARE guest_c# CURSOR WITH HOLD FOR SELECT * FROM generate_series(1, 100)',
  'DECLARE guest_d# CURSOR FOR SELECT * FROM public.posts',
  'FETCH 5 FROM guest_c#',
  'CLOSE guest_c#',
  'LISTEN guest_l#',
  "NOTIFY guest_l#, 'x'",
  'UNLISTEN guest_l#',
  'SELECT pg_advisory_lock(#), pg_advisory_lock_shared(#, -#)',
  'SELECT pg_advisory_unlock(#)',
  'SELECT pg_advisory_xact_lock(#)',
);
const TRANSACTION = sql(
  'BEGIN',
  'BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE',
  'SAVEPOINT guest_s#',
  'ROLLBACK TO guest_s#',
  'COMMIT',
  'ROLLBACK',
  'SET LOCAL search_path = pg_catalog',
  'LOCK TABLE public.posts, public.events IN ACCESS EXCLUSIVE MODE',
  'SET CONSTRAINTS ALL DEFERRED',
);
const FAILING = sql(
  'SELECT 1/0',
  'SELEC #',
  'SELECT * FROM guest_missing#',
  'COPY public.posts FROM STDIN',
  "DO $$ BEGIN RAISE EXCEPTION 'guest #'; END $$",
  "PREPARE TRANSACTION 'guest #'",
);
const ENDING = sql(
  'DISCARD ALL',
  'DISCARD TEMP',
  'DEALLOCATE ALL',
  'UNLISTEN *',
  'CLOSE ALL',
  'RESET ALL',
  'SELECT pg_advisory_unlock_all()',
  'SET ROLE pg_monitor',
  'SET SESSION AUTHORIZATION guest_poor',
  'RESET ROLE',
  'SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY',
  'SELECT pg_terminate_backend(pg_backend_pid())',
);
const TABLES = sql(
  'CREATE TABLE IF NOT EXISTS guests.t# (n int PRIMARY KEY, t text)',
  'ALTER TABLE guests.t# ADD COLUMN IF NOT EXISTS u int DEFAULT #',
  "INSERT INTO guests.t# (n, t) SELECT n, 'x' FROM generate_series(1, 200) AS n ON CONFLICT DO NOTHING",
  'UPDATE guests.t# SET t = t || t WHERE n < 20',
  'CREATE INDEX ON guests.t# (t)',
  'SELECT count(*), max(t) FROM guests.t# JOIN public.posts ON n = length(title)',
  'DROP TABLE IF EXISTS guests.t#',
  'ANALYZE guests.t#',
);
const named = place.map((at) => ({ named: `guest_n${at}`, text: `SELECT $1::int + ${at}` }));

const sessionOf = (settings: readonly Setting[]): fc.Arbitrary<Session> =>
  fc.record({
    steps: fc.array(
      fc.oneof<fc.WeightedArbitrary<Step>[]>(
        { weight: 30, arbitrary: fc.constantFrom(...settings).chain(setting) },
        { weight: 25, arbitrary: LEFT },
        { weight: 20, arbitrary: TRANSACTION },
        { weight: 8, arbitrary: FAILING },
        { weight: 10, arbitrary: ENDING },
        { weight: 10, arbitrary: TABLES },
        { weight: 5, arbitrary: named },
      ),
      { minLength: 1, maxLength: 14 },
    ),
    end: fc.oneof(
      { weight: 50, arbitrary: fc.constant<End>('leaves') },
      { weight: 45, arbitrary: fc.constant<End>('dies') },
      // In a transaction for as long as it is let: a few seconds each.
      { weight: 3, arbitrary: fc.constant<End>('waits') },
    ),
  });

interface Session {
  readonly steps: readonly Step[];
  readonly end: End;
}

async function take(guest: Guest, step: Step): Promise<unknown> {
  if (typeof step !== 'string') return guest.client.query({ name: step.named, text: step.text, values: [1] });
  return guest.ask(step);
}

/** Does what is asked; its errors are its own. */
async function visit({ steps, end }: Session): Promise<void> {
  const guest = await enterLater(app);
  for (const [at, step] of steps.entries()) {
    const taken = take(guest, step).catch(() => undefined);
    // It does not wait for the last answer.
    if (end !== 'dies' || at < steps.length - 1) await taken;
  }
  if (end === 'waits') {
    await take(guest, 'BEGIN').catch(() => undefined);
    await guest.ended;
  } else if (end === 'dies') guest.vanish();
  // It may have been ended on the way.
  else await guest.leave().catch(() => undefined);
}

const POST =
  'mutation ($title: String!) { createPost(title: $title, body: "Body.", tags: ["guests"]) { id title } }';
const COMMENT =
  'mutation ($id: ID!) { createComment(postId: $id, body: "Comment.") { id post { commentCount author { name } } } }';
const READ = '{ posts(limit: 10) { title commentCount tags author { name } comments { body } } }';

let key = '';
/** The acknowledged posts by title. */
const posted = new Map<string, string>();

/** Sends a mutation with a key twice. What it has answered. */
async function twice(query: string, idempotencyKey: string, variables: unknown): Promise<string> {
  const request = { query, idempotencyKey: encodeURIComponent(idempotencyKey), variables, key };
  const [first, again] = [await send(app, request), await send(app, request)];
  expect(first.text).not.toContain('"errors"');
  expect(first.status).toBe(200);
  expect(again).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
  return first.text;
}

/** Clients who go on until the guests have left. */
async function load(client: string, goesOn: () => boolean): Promise<void> {
  for (let n = 0; n === 0 || goesOn(); n += 1) {
    const title = `${client} ${n} é✓`;
    const text = await twice(POST, title, { title });
    const { id } = (JSON.parse(text) as { data: { createPost: { id: string } } }).data.createPost;
    posted.set(title, id);
    expect(await twice(COMMENT, `comment on ${title}`, { id })).toContain('"commentCount":1');
    const { status, data, errors } = await app.gql(READ, { key });
    expect({ status, errors }).toEqual({ status: 200, errors: undefined });
    expect(data.posts.map((post: { author: unknown; tags: unknown }) => [post.author, post.tags])).toEqual(
      data.posts.map(() => [{ name: 'Someone' }, ['guests']]),
    );
  }
}

/** Before the first guest: what guests find. Resolves to the settings that there are. */
async function prepare(): Promise<Setting[]> {
  ({ key } = await app.account());
  const guest = await enter(app);
  await guest.ask('CREATE SCHEMA guests; CREATE ROLE guest_poor');
  const settings = (await guest.ask(SETTINGS)) as Setting[];
  await guest.leave();
  return settings;
}

it('guests of the embedded database do what they like, and the service does what it would without them', async () => {
  const settings = await prepare();
  let round = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(sessionOf(settings), { minLength: AT_ONCE, maxLength: AT_ONCE }),
      async (sessions) => {
        round += 1;
        let visiting = true;
        const visits = Promise.all(sessions.map(visit)).finally(() => {
          visiting = false;
        });
        const clients = ['a', 'b', 'c'].map((client) => load(`${client} ${round}`, () => visiting));
        await Promise.all([visits, ...clients]);
        expect(app.logged.filter((line) => (JSON.parse(line) as LogLine).level >= ERROR)).toEqual([]);
        expect(await lookAfresh(app)).toEqual(UNTOUCHED);
      },
    ),
    // A smaller one would begin with what the failed one has left.
    { numRuns: ROUNDS, endOnFailure: true },
  );
  const stored = await app.prisma.post.findMany({ select: { id: true, title: true, commentCount: true } });
  expect(stored.map(({ id, title, commentCount }) => [title, id, commentCount]).sort()).toEqual(
    [...posted].map(([title, id]) => [title, id, 1]).sort(),
  );
  expect(await app.prisma.comment.count()).toBe(posted.size);
  const events = await app.prisma.event.findMany({
    where: { kind: 'POST_CREATED' },
    select: { rootId: true },
  });
  expect(events.map(({ rootId }) => rootId).sort()).toEqual([...posted.values()].sort());
});
