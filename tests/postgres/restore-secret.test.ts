import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createEmptyDatabase } from '../support/database/empty-database.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';

async function target(label: string): Promise<string> {
  const { url, drop } = await createEmptyDatabase('restore', label);
  onTestFinished(drop);
  return url;
}

it('A restore into PostgreSQL warns about an existing secret only if the secret is another one', async () => {
  const [source, dataDir, folder] = [
    await temporaryFolder(),
    await temporaryFolder(),
    await temporaryFolder(),
  ];
  const [file, secretFile] = [join(folder, 'backup'), join(dataDir, 'secret-key')];
  const secret = `${'a-secret-of-the-first-machine'.padEnd(64, '0')}\n`;
  expect((await admin(['database', 'migrate'], source)).code).toBe(0);
  writeFileSync(join(source, 'secret-key'), secret, { mode: 0o600 });
  expect((await admin(['database', 'backup', file], source)).json).toMatchObject({ secretKey: true });
  const restore = async (label: string) =>
    admin(['database', 'restore', file], dataDir, { DATABASE_URL: await target(label) });

  expect(await restore('first')).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(secretFile, 'utf8')).toBe(secret);
  // A restore that is killed before its commit leaves the secret without the rows.
  expect(await restore('again')).toMatchObject({ code: 0, stderr: '' });

  writeFileSync(secretFile, `${'another-secret'.padEnd(64, '0')}\n`);
  const { code, stderr } = await restore('other');
  expect(code).toBe(0);
  expect(stderr).toMatch(/^The secret key of the backup was not restored, because ".*secret-key" exists\./);
  expect(readFileSync(secretFile, 'utf8')).toMatch(/^another-secret/);
});
