import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { enter, type Guest, lookAfresh, useEmbeddedApp } from '../support/database/guests.ts';
import { linesOf } from '../support/log-lines.ts';
import { runProgram, temporaryFolder } from '../support/processes/process.ts';

const app = useEmbeddedApp();
const ENDED = 'an outside connection to the embedded database was ended';
const FAILED = 'the embedded database failed';
const RESTARTED = 'restarting the embedded database';
const POST = 'mutation ($title: String!) { createPost(title: $title, body: "Body.") { title } }';
const TITLES = '{ posts(limit: 100) { title } }';

let key = '';
let count = 0;

/** A mutation and a query that are on their way. Resolves once both are answered, as if there were no guests. */
function requests(): Promise<void> {
  count += 1;
  const title = `Post ${count}`;
  const mutation = app.gql(POST, { key, variables: { title } });
  const query = app.gql('{ viewer { name } }', { key });
  return Promise.all([mutation, query]).then(([posted, read]) => {
    expect(posted, app.logged.slice(-8).join('')).toMatchObject({
      status: 200,
      data: { createPost: { title } },
    });
    expect(read).toMatchObject({ status: 200, data: { viewer: { name: 'Someone' } } });
  });
}

/** Each post is there once. */
async function eachOnce(): Promise<void> {
  const { data } = await app.gql(TITLES, { key });
  expect(data.posts.map(({ title }: { title: string }) => title)).toEqual(
    Array.from({ length: count }, (_, at) => `Post ${count - at}`),
  );
}

/** The reasons of the lines with a message, since there were so many of them. */
const reasons = (message: string, from = 0) =>
  linesOf(app.logged, message)
    .slice(from)
    .map(({ reason }) => reason);

/** An extended query as far as its Execute, which is answered; its Sync never comes. */
function flushed({ client: { connection } }: Guest, text: string): void {
  connection.parse({ name: '', text, types: [] }, true);
  connection.bind({ values: [] }, true);
  connection.execute({}, true);
  connection.flush();
}

/** So many answers of the holder of the session later, what has been sent to it waits for the holder. */
async function settle(guest: Guest): Promise<void> {
  for (let round = 0; round < 20; round += 1) await guest.ask('SELECT 1');
}

beforeAll(async () => {
  ({ key } = await app.account());
  await app.gql(TITLES, { key });
});

describe('a guest of the embedded database that is in the way', () => {
  it.for([
    ['an idle transaction', 'BEGIN; CREATE TABLE guest_gone (); LOCK TABLE posts'],
    ['a failed transaction', 'BEGIN; SELECT 1/0'],
  ] as const)('is ended with %s, and told why', async ([, sql]) => {
    const before = linesOf(app.logged, ENDED).length;
    const guest = await enter(app, 'psql');
    await guest.ask(sql).catch(() => undefined);
    await requests();
    await guest.ended;
    const reason = 'its transaction was idle for 2 s';
    expect(guest.told).toContain(`the embedded database ended the connection: ${reason}`);
    // The line comes by another way than the end.
    await expect
      .poll(() => linesOf(app.logged, ENDED).slice(before))
      .toMatchObject([{ application: 'psql', reason }]);
    const next = await enter(app);
    expect(await next.ask("SELECT to_regclass('guest_gone')")).toEqual([null]);
    await eachOnce();
  });

  it('is ended with a transaction that goes on and on', async () => {
    const before = linesOf(app.logged, ENDED).length;
    const guest = await enter(app);
    await guest.ask('BEGIN');
    const answered = requests();
    const busy = async () => {
      for (;;) await guest.ask('SELECT 1');
    };
    // It may be about to ask, and not read why it is ended.
    await expect(busy()).rejects.toThrow();
    await answered;
    await expect.poll(() => reasons(ENDED, before)).toEqual(['its transaction took more than 5 s']);
    await eachOnce();
  });

  it('is ended with an extended query that never comes to its Sync', async () => {
    const before = linesOf(app.logged, ENDED).length;
    const guest = await enter(app);
    flushed(guest, 'SELECT 1');
    await requests();
    await guest.ended;
    await expect.poll(() => reasons(ENDED, before)).toEqual(['its transaction was idle for 2 s']);
    await eachOnce();
  });

  it('is rolled back where it vanishes in the middle of a transaction or of a statement', async () => {
    for (const sql of ['BEGIN; CREATE TABLE guest_gone ()', 'BEGIN; SELECT 1/0', 'SELECT pg_sleep(1)']) {
      const guest = await enter(app);
      const asked = guest.ask(sql).catch(() => undefined);
      if (sql.startsWith('BEGIN')) await asked;
      const answered = requests();
      guest.vanish();
      await answered;
      await asked;
    }
    const next = await enter(app);
    expect(await next.ask("SELECT to_regclass('guest_gone')")).toEqual([null]);
    await eachOnce();
  });

  it('is refused COPY FROM STDIN with an error that says what to use, in each way of asking', async () => {
    const guest = await enter(app);
    await guest.ask('CREATE TABLE guest_copied (n int)');
    const copy = 'COPY guest_copied FROM STDIN';
    const advice = /takes no COPY FROM STDIN: use INSERT, or "admin restore"/;
    await expect(guest.ask(copy)).rejects.toThrow(advice);
    await expect(guest.client.query({ name: 'guest_copy', text: copy })).rejects.toThrow(advice);
    await requests();
    const cut = await enter(app);
    const errors: string[] = [];
    cut.client.connection.on('errorMessage', ({ message }) => errors.push(message));
    flushed(cut, copy);
    const answered = requests();
    await expect.poll(() => errors).toMatchObject([expect.stringMatching(advice)]);
    cut.client.connection.stream.write(Buffer.from([...Buffer.from('d'), 0, 0, 0, 6, 49, 10]));
    cut.vanish();
    await answered;
    expect(await guest.ask('SELECT count(*)::int FROM guest_copied')).toEqual([0]);
    expect(await guest.ask('DROP TABLE guest_copied')).toEqual([]);
    expect(linesOf(app.logged, RESTARTED)).toEqual([]);
    expect(linesOf(app.logged, FAILED)).toEqual([]);
    await eachOnce();
  });

  it('cannot end the backend as it would on a server', async () => {
    const guest = await enter(app);
    const asked = guest.ask('SELECT pg_terminate_backend(pid), pg_cancel_backend(pid) FROM pg_stat_activity');
    await requests();
    await asked.catch(() => undefined);
    await requests();
    await eachOnce();
  });

  it.for([
    // Each error is fatal then, as PostgreSQL says.
    ['exit_on_error = on', 'SELECT 1/0', 'division by zero'],
    ['transaction_timeout = 1500', 'SELECT pg_sleep(3)', 'terminating connection due to transaction timeout'],
  ] as const)(
    'that ends the backend with itself delays the requests that wait: %s',
    async ([set, sql, why]) => {
      const before = linesOf(app.logged, FAILED).length;
      const guest = await enter(app);
      await guest.ask(`SET ${set}`);
      await guest.ask('BEGIN');
      const answered = requests();
      await settle(guest).catch(() => undefined);
      await guest.ask(sql).catch(() => undefined);
      await guest.ended;
      await answered;
      expect(linesOf(app.logged, FAILED).slice(before)).toMatchObject([
        { err: { message: `the backend has ended: ${why}` } },
      ]);
      await eachOnce();
    },
  );

  it('is ended with the worker where a statement does not end, and the requests that wait begin later', async () => {
    const guest = await enter(app);
    await guest.ask('BEGIN');
    const answered = requests();
    await settle(guest);
    const asked = guest.ask('SELECT pg_sleep(60)').catch(() => undefined);
    await answered;
    await asked;
    await guest.ended;
    expect(reasons(RESTARTED)).toEqual(['an outside connection had the database for more than 5 s']);
    expect(await lookAfresh(app)).toMatchObject({ settings: [], temporary: [], locks: 0 });
    await eachOnce();
  });

  it('is one of at most 16', async () => {
    const guests = await Promise.all(Array.from({ length: 16 }, () => enter(app)));
    await expect(enter(app)).rejects.toThrow('too many outside connections');
    await requests();
    await guests[0]?.leave();
    await guests[0]?.ended;
    await expect.poll(() => enter(app).then(() => 'in', String)).toBe('in');
  });
});

describe('programs of PostgreSQL on the embedded database', () => {
  const connected = () => ['-h', app.config.dataDir, '-U', 'postgres', 'postgres'];

  it('are served: psql, with settings of its own, \\d, and \\copy in one direction', async () => {
    const folder = await temporaryFolder();
    const [script, file] = [join(folder, 'script.sql'), join(folder, 'out.csv')];
    await writeFile(
      script,
      [
        '\\set ON_ERROR_STOP off',
        "SET search_path = ''; SET role = 'pg_monitor'; SET default_transaction_read_only = on;",
        '\\d public.posts',
        'RESET ALL; RESET ROLE;',
        'PREPARE guest_p AS SELECT 41 + $1::int; EXECUTE guest_p(1);',
        'CREATE TEMP TABLE posts (title text);',
        `\\copy (SELECT title FROM public.posts) TO '${file}'`,
        `\\copy posts FROM '${file}'`,
        "SELECT 'still ' || 'here';",
      ].join('\n'),
    );
    const psql = runProgram(['psql', '-X', '-q', '-At', '-f', script, ...connected()], {});
    await requests();
    const { code, stdout, stderr } = await psql.exited;
    expect(code, stderr).toBe(0);
    expect(stdout).toContain('comment_count');
    expect(stdout).toContain('42\nstill here');
    expect(stderr).toContain('the embedded database takes no COPY FROM STDIN');
    expect(existsSync(file)).toBe(true);
    await requests();
    await eachOnce();
    await expect.poll(() => lookAfresh(app)).toMatchObject({ settings: [], prepared: [], temporary: [] });
  });

  it('are told what to use: pg_dump', async () => {
    const dump = runProgram(['pg_dump', ...connected()], { PGCLIENTENCODING: 'UTF8' });
    await requests();
    const { code, stdout, stderr } = await dump.exited;
    expect(stderr).toContain('the embedded database gives pg_dump 5 s');
    // Of the same major version, which Debian's may be some day, it works.
    if (code === 0) expect(stdout).toContain('CREATE TABLE public.posts');
    else expect(stderr).toContain('aborting because of server version mismatch');
    await requests();
    await eachOnce();
    expect(linesOf(app.logged, ENDED).map(({ application }) => application)).not.toContain('pg_dump');
  });
});
