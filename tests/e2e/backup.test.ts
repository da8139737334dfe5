import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { describe, expect, it } from 'vitest';
import { CREATE_POST, send } from '../support/keyed.ts';
import { asApp, CREATE, keyedLoad, launchAdmin, quickFolders } from '../support/processes/backups.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { mountedDisk } from '../support/processes/mounted.ts';
import { until } from '../support/processes/process.ts';
import {
  admin,
  demoKey,
  launchServer,
  productionSettings,
  startServer,
} from '../support/processes/server.ts';
import { UNTHROTTLED } from '../support/settings.ts';
import { issueToken, requestByToken } from '../support/streams/stream-token.ts';
import { subscribe, titlesOf } from '../support/streams/subscriber.ts';

const ADA = 'ada@example.com';

/** Posts of which a part is missing. */
const HALF = `SELECT p.title FROM posts p WHERE p.title LIKE 'load%' AND (
  (SELECT count(*) FROM tags t WHERE t.post_id = p.id) <> 2
  OR p.comment_count <> (SELECT count(*) FROM comments c WHERE c.post_id = p.id)
  OR (SELECT count(*) FROM events e WHERE e.kind = 'POST_CREATED' AND e.root_id = p.id) <> 1)`;
const LOG = `SELECT p.title FROM events e JOIN posts p ON p.id = e.root_id WHERE e.kind = 'POST_CREATED' ORDER BY e.era, e.xid, e.id`;

/** The titles that statements give on the database in a folder that no service uses. */
async function titlesIn(dataDir: string, statements: readonly string[]): Promise<string[][]> {
  const engine = await PGlite.create(join(dataDir, 'postgres'));
  try {
    const results: string[][] = [];
    for (const sql of statements)
      results.push((await engine.query<{ title: string }>(sql)).rows.map(({ title }) => title));
    return results;
  } finally {
    await engine.close();
  }
}

describe('a backup beside a server', () => {
  it('has all that was acknowledged before it began, and nothing by half', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir, UNTHROTTLED);
    const app = asApp(server);
    const key = await demoKey(dataDir);
    const { password } = JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8')) as { password: string };
    const signIn = (to: typeof app) =>
      to.fetch('/login', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: ADA, password }),
      });
    const cookie = (await signIn(app)).headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const token = await issueToken(app, { cookie, origin: server.origin });
    // The signing key is made, and the secret that it is sealed under.
    const keysOf = async (of: typeof app) => (await of.fetch('/oauth/jwks')).text();
    const signingKeys = await keysOf(app);
    const stream = await subscribe(app, { key });

    const loads = ['load a', 'load b'].map((name) => keyedLoad(app, key, name));
    await until('a load', () => loads.every(({ written }) => written.length > 10));
    const before = loads.flatMap(({ written }) => [...written]);
    const early = await stream.receive();
    const file = join(backups, 'backup');
    const made = await admin(['database', 'backup', file], dataDir);
    expect(made).toMatchObject({ code: 0, stderr: '', json: { file, secretKey: true } });
    expect(made.json.bytes).toBe(statSync(file).size);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(backups)).toEqual(['backup']);
    const after = loads.map(({ written }) => written.length);
    await until('more load', () => loads.every(({ written }, n) => written.length > (after[n] ?? 0) + 3));
    for (const load of loads) await load.stop();
    expect(new Set(loads.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    const { title: lastTitle = '' } = loads[0]?.written.at(-1) ?? {};
    const late = (await stream.until(lastTitle)).at(-1);
    server.kill('SIGTERM');
    expect((await server.exited).stderr).toBe('');

    const done = await admin(['database', 'restore', file], restored);
    expect(done).toMatchObject({
      code: 0,
      stderr: '',
      json: { secretKey: true, applied: [], keys: [{ user: ADA, prefix: key.slice(0, 10) }] },
    });
    expect(done.json.revoked).toMatchObject({ sessions: 1, streamTokens: 1 });
    const [titles = [], half] = await titlesIn(restored, [LOG, HALF]);
    const again = await startServer(restored, UNTHROTTLED);
    const back = asApp(again);
    expect(before.filter(({ title }) => !titles.includes(title))).toEqual([]);
    expect(half).toEqual([]);

    for (const { title, idempotencyKey, response } of before.slice(-5)) {
      const replay = await send(back, { query: CREATE, variables: { title }, idempotencyKey, key });
      expect(replay).toMatchObject({ status: 200, text: response.text, replayed: 'true' });
    }
    expect(await keysOf(back)).toBe(signingKeys);
    expect((await signIn(back)).status).toBe(200);
    expect((await back.fetch('/graphql?query={viewer{id}}', { headers: { cookie } })).status).toBe(401);
    expect((await requestByToken(back, token)).status).toBe(401);

    const resumed = await subscribe(back, { key, header: early.id });
    const last = await send(back, { query: CREATE_POST, variables: { title: 'the last' }, key });
    expect(last.status).toBe(200);
    const missed = titles.slice(titles.indexOf(early.title ?? '') + 1);
    expect(titlesOf(await resumed.until('the last'))).toEqual([...missed, 'the last']);
    const expired = await subscribe(back, { key, header: late?.id });
    expect((await expired.receive()).errors?.[0]?.extensions.code).toBe('EVENT_HISTORY_EXPIRED');

    again.kill('SIGTERM');
    await again.exited;
    // A folder that was seeded by development is none of production's, restored or not.
    expectOneLine(await launchServer(restored, productionSettings()).exited, /seeded by development/);
  });

  it('is rejected where the file cannot be, and where there is no database', async () => {
    const { dataDir, backups } = await quickFolders();
    await startServer(dataDir);
    const { folder: small } = await mountedDisk(1);
    expect(() => writeFileSync(join(small, 'full'), Buffer.alloc(2_097_152))).toThrow('ENOSPC');
    const readOnly = await mountedDisk(1);
    readOnly.makeReadOnly();
    writeFileSync(join(backups, 'there'), '');
    const rejections = [
      [small, /cannot be written: its disk is full/],
      [readOnly.folder, /cannot be written: its file system is read-only/],
      [join(backups, 'none'), /directory of ".*" does not exist/],
      [join(backups, 'there'), /cannot be written: a part of the path is a file/],
      [dataDir, /is in DATA_DIR/],
    ] as const;
    for (const [folder, says] of rejections)
      expectOneLine(await launchAdmin(['database', 'backup', join(folder, 'backup')], dataDir).exited, says);
    expectOneLine(
      await launchAdmin(['database', 'backup', join(backups, 'there')], dataDir).exited,
      /exists\. Nothing was changed\. Name a new/,
    );
    expectOneLine(
      await launchAdmin(['database', 'backup', join(backups, 'b')], backups).exited,
      /There is no embedded database/,
    );
    expect([small, readOnly.folder, backups].map((folder) => readdirSync(folder))).toEqual([
      ['full'],
      [],
      ['there'],
    ]);
    expect((await admin(['database', 'backup', join(backups, 'works')], dataDir)).code).toBe(0);
  });
});

describe('a restore', () => {
  it('in production: with the API keys revoked, in a folder of its own, and not onto a full disk', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const settings = productionSettings();
    const user = [
      'user',
      'create',
      '--name',
      'Op',
      '--email',
      'op@example.org',
      '--password',
      'a long passphrase',
    ];
    expect((await admin(user, dataDir, settings)).code).toBe(0);
    const create = ['api-key', 'create', '--user', 'op@example.org', '--name', 'k', '--scopes', 'posts:read'];
    const { key } = (await admin(create, dataDir, settings)).json;
    const file = join(backups, 'backup');
    expect((await admin(['database', 'backup', file], dataDir, settings)).json).toMatchObject({
      secretKey: false,
    });

    const done = await admin(['database', 'restore', file, '--revoke-api-keys'], restored, settings);
    expect(done).toMatchObject({ code: 0, stderr: '', json: { keys: [], revoked: { apiKeys: 1 } } });
    const rights = (path: string) => statSync(join(restored, path)).mode & 0o777;
    expect(['', 'postgres', 'postgres/base', 'postgres/global/pg_control', 'lock'].map(rights)).toEqual([
      0o700, 0o700, 0o700, 0o600, 0o600,
    ]);
    const server = await startServer(restored, settings);
    expect((await server.gql('{ viewer { id } }', { key })).status).toBe(401);
    expectOneLine(
      await launchAdmin(['database', 'restore', file], restored, settings).exited,
      /is in use by another process/,
    );

    const { folder: small } = await mountedDisk(70);
    expectOneLine(
      await launchAdmin(['database', 'restore', file], small, settings).exited,
      /its disk has \d+ MiB left, and \d+ are needed/,
    );
    expect(readdirSync(small)).toEqual(['lock']);
    expectOneLine(
      await launchAdmin(['database', 'restore', file], dataDir, settings).exited,
      /is not empty: the directory has "postgres"/,
    );
  });
});
