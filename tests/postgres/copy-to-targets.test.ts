import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { copyTo, createTarget, migratedFolder, ONE_LINE, WAIT } from '../support/database/copies.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { startServer } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';

describe('admin database copy-to', () => {
  it('rejects a target that holds anything, but not another schema of it', WAIT, async () => {
    const dataDir = await migratedFolder();
    const url = await createTarget('not empty');
    for (const [named, make] of [
      ['function "own"', 'CREATE FUNCTION public.own() RETURNS int LANGUAGE sql RETURN 1'],
      ['type "Role"', `CREATE TYPE public."Role" AS ENUM ('a')`],
      ['sequence "own"', 'CREATE SEQUENCE public.own'],
      ['view "a_view"', 'CREATE VIEW public.a_view AS SELECT 1 AS one'],
      ['table "a_table"', 'CREATE TABLE public.a_table ()'],
    ] as const) {
      await run(url, make);
      const rejected = await copyTo(dataDir, url);
      expect(rejected).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(ONE_LINE) });
      expect(rejected.stderr).toContain(`The target is not empty: its schema "public" has the ${named}.`);
    }
    const elsewhere = await copyTo(dataDir, `${url}?schema=elsewhere`);
    expect(elsewhere.code, elsewhere.stderr).toBe(0);
  });

  it('names the file of a secret that was made for the folder', WAIT, async () => {
    const dataDir = await temporaryFolder();
    const server = await startServer(dataDir);
    await fetch(`${server.origin}/oauth/jwks`);
    server.kill('SIGTERM');
    await server.exited;
    const secret = (await readFile(join(dataDir, 'secret-key'), 'utf8')).trim();
    const { code, stdout, stderr } = await copyTo(dataDir, await createTarget('secret'));
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).toContain(`the content of "${join(dataDir, 'secret-key')}"`);
    expect(stdout + stderr).not.toContain(secret);
  });
});
