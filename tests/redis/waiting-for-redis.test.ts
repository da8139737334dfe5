import { expect, it } from 'vitest';
import { switchedProxy } from '../support/database/switched-proxy.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { launchServer, productionSettings } from '../support/processes/server.ts';

it('A Redis that is missing at start costs one line without a stack, and its return another', async () => {
  const proxy = await switchedProxy(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
  const settings = { ...productionSettings(), REDIS_URL: proxy.url };
  const server = launchServer(await temporaryFolder(), settings);
  await server.printed(/service\.started/);
  await server.printed(/redis\.unavailable.*REDIS_URL/);
  await proxy.on();
  await server.printed(/redis\.recovered/);
  // A slow machine may get a reminder: one of the many attempts in which the connection was rejected.
  expect(server.stdout.match(/redis\.unavailable/g)?.length).toBeLessThan(5);
  expect(server.stdout).not.toMatch(/"stack"/);
});
