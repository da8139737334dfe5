import { describe, expect, it, onTestFinished } from 'vitest';
import { createClient } from '../../packages/client/src/index.ts';
import { until } from '../support/processes/process.ts';
import {
  type Arrival,
  driveApollo,
  driveClient,
  driveEventSource,
  driveRelay,
  driveUrql,
  SERVICE,
} from './adapter-drivers.ts';
import { startService } from './live-service.ts';
import { driveReact, driveTanStack } from './page-drivers.ts';

const POSTS = 12;
/** A long budget: only a service that does not come back fails the test. */
const retry = { mutationBudgetMs: 300_000, queryBudgetMs: 300_000 };

describe.each([
  ['the client', driveClient],
  ['urql', driveUrql],
  ['Apollo Client', driveApollo],
  ['Relay', driveRelay],
  ['React', driveReact],
  ['TanStack Query', driveTanStack],
  ['EventSource', driveEventSource],
] as const)('Through %s', (_name, drive) => {
  it('each post is written once and arrives once and in order, while the service is killed twice', async () => {
    const service = await startService();
    const client = createClient({ url: service.url, headers: service.headers, retry });
    onTestFinished(() => client.close());
    const driver = drive(client, SERVICE);
    const arrivals: Arrival[] = [];
    onTestFinished(driver.follow(undefined, (arrival) => arrivals.push(arrival)));
    await until('the stream', () => client.state.current.status === 'live');
    const titles = Array.from({ length: POSTS }, (_, index) => `Post ${index + 1}`);
    const writing = (async () => {
      for (const title of titles) await driver.mutate(title, title);
    })();
    for (const share of [1 / 3, 2 / 3]) {
      await until('some posts', () => arrivals.length >= POSTS * share);
      await service.end('SIGKILL');
      await service.start();
      client.retry();
    }
    await writing;
    await until('all posts', () => arrivals.length >= POSTS);
    expect(arrivals).toEqual(titles);
    expect(await driver.query()).toMatchObject([{ title: titles.at(-1) }]);
  });
});
