import { expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';

import { productionSettings, startServer } from '../support/processes/server.ts';

it('X-Forwarded-For from a peer that TRUST_PROXY does not list is named once in the log, with the setting', async () => {
  const server = await startServer(await migratedFolder(), productionSettings());
  const headers = { 'x-forwarded-for': '203.0.113.7' };
  for (let requests = 0; requests < 3; requests += 1)
    expect((await fetch(`${server.origin}/health/live`, { headers })).status).toBe(200);
  server.kill('SIGTERM');
  const { stdout } = await server.exited;
  const told = stdout.split('\n').filter((line) => line.includes('TRUST_PROXY'));
  expect(told.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ level: 40, peer: '127.0.0.1', event: 'http.proxy_untrusted' }),
  ]);
});
