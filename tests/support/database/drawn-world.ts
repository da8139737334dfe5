import { createHash } from 'node:crypto';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';

/** Settings of PostgreSQL that a host, a database or a role may have, and that must change nothing. */
export type WorldSettings = Readonly<Record<string, string>>;

/**
 * What is drawn for each database of the tests. The first of each is PostgreSQL's default, and is drawn as often as all
 * others together: what is common must work, too.
 */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  TimeZone: [
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Asia/Kathmandu',
    'Pacific/Chatham',
    'America/St_Johns',
    'Pacific/Kiritimati',
    'Etc/GMT+12',
  ],
  DateStyle: ['ISO, MDY', 'ISO, DMY', 'SQL, DMY', 'German', 'Postgres, YMD'],
  IntervalStyle: ['postgres', 'sql_standard', 'postgres_verbose', 'iso_8601'],
  search_path: ['"$user", public', 'decoy, public', 'public, decoy', 'pg_catalog, decoy, public'],
  default_transaction_isolation: ['read committed', 'repeatable read', 'serializable'],
  default_transaction_deferrable: ['off', 'on'],
  bytea_output: ['hex', 'escape'],
  extra_float_digits: ['1', '-15', '3'],
  array_nulls: ['on', 'off'],
  standard_conforming_strings: ['on', 'off'],
  escape_string_warning: ['on', 'off'],
  transform_null_equals: ['off', 'on'],
  quote_all_identifiers: ['off', 'on'],
  row_security: ['on', 'off'],
  synchronize_seqscans: ['on', 'off'],
  client_min_messages: ['notice', 'debug1', 'error'],
  xmloption: ['content', 'document'],
  default_text_search_config: ['pg_catalog.english', 'pg_catalog.simple'],
};

/** Languages of messages for which a machine may have the locale. */
const MESSAGES = ['C', 'de_DE.UTF-8'];

/** How databases sort and fold letters: as their server does, by bytes, or by the rules of Turkish or German. */
const LOCALES = [
  '',
  `LOCALE 'C'`,
  `LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'`,
  `LOCALE 'de_DE.UTF-8'`,
];

/** A number from 0 up to 1 that is the same for the same texts. */
function drawn(...texts: readonly string[]): number {
  return createHash('sha256').update(texts.join('\n')).digest().readUInt32BE() / 2 ** 32;
}

function pick(choices: readonly string[], at: number): string {
  const [usual = '', ...others] = choices;
  return at < 0.5 ? usual : (others[Math.floor((at - 0.5) * 2 * others.length)] ?? usual);
}

/** The seed of a run: that of `.ci/run`, or one that `global-setup.ts` has drawn and printed. */
const seed = () => process.env.PROPERTY_SEED ?? '0';

/** What is drawn for a database. `label` says which one it is. */
export function drawWorld(label: string): WorldSettings {
  return Object.fromEntries(
    Object.entries(CHOICES).map(([name, choices]) => [name, pick(choices, drawn(seed(), label, name))]),
  );
}

/** The language that the messages of a database are drawn to have, if the server can have it. */
async function drawMessages(client: pg.ClientBase, label: string): Promise<string | undefined> {
  const language = pick(MESSAGES, drawn(seed(), label, 'lc_messages'));
  const fits = await client.query(`SELECT set_config('lc_messages', $1, false)`, [language]).then(
    () => true,
    () => false,
  );
  await client.query('RESET lc_messages').catch(() => undefined);
  return fits ? language : undefined;
}

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** A search path is a list of names, any other value one text. */
const written = (name: string, value: string) => (name === 'search_path' ? value : literal(value));

/** Creates a database with a locale that is drawn, as far as the server has it. */
export async function createDatabase(client: pg.ClientBase, name: string, label: string): Promise<void> {
  const create = (locale: string) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8' ${locale}`);
  const locale = pick(LOCALES, drawn(seed(), label, 'locale'));
  await create(locale).catch((error: pg.DatabaseError) => {
    // The machine does not have it, or PostgreSQL was built without ICU.
    if (locale === '' || !['42809', '22023', '0A000'].includes(error.code ?? '')) throw error;
    return create('');
  });
}

/** Draws the settings of a database on a server. To be called before anybody connects to it. */
export async function drawDatabase(
  client: pg.ClientBase,
  database: string,
  label: string,
  fixed: WorldSettings = {},
): Promise<void> {
  const messages = await drawMessages(client, label);
  const world = {
    ...drawWorld(label),
    ...(messages === undefined ? {} : { lc_messages: messages }),
    ...fixed,
  };
  for (const [name, value] of Object.entries(world))
    await client.query(`ALTER DATABASE ${database} SET ${name} = ${written(name, value)}`);
}

/** Creates a database of which everything is drawn. */
export async function createDrawnDatabase(client: pg.ClientBase, name: string, label: string): Promise<void> {
  await createDatabase(client, name, label);
  await drawDatabase(client, name, label);
}

/** A start touches all of its buffers: with the usual 128 MB it takes a third longer. */
const FEW_BUFFERS = { shared_buffers: '16MB' };

/** Draws those of an embedded database, from its folder. */
export async function drawFolder(dataDir: string, label: string, fixed: WorldSettings = {}): Promise<void> {
  const lines = Object.entries({ ...FEW_BUFFERS, ...drawWorld(label), ...fixed }).map(
    ([name, value]) => `${name} = ${literal(value)}\n`,
  );
  await appendFile(join(dataDir, 'postgres', 'postgresql.auto.conf'), lines.join(''));
}
