import { readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { Http2Client } from '../../scripts/cluster/http2-client.ts';
import { Instance } from '../../scripts/cluster/instances.ts';
import { readShippedConfiguration } from '../../scripts/cluster/nginx.ts';
import { freePort, freePorts } from '../../scripts/cluster/processes.ts';
import { Subscriber } from '../../scripts/cluster/subscriber.ts';
import { useApp } from '../support/app.ts';
import { postgresOf } from '../support/database/postgres.ts';
import { startNginx } from '../support/nginx.ts';
import { endOfTest, ROOT, temporaryFolder, until } from '../support/processes/process.ts';
import { productionSettings } from '../support/processes/server.ts';
import { AMPLE_TIMEOUTS, UNTHROTTLED } from '../support/settings.ts';

const STREAMS = 60;

const app = useApp();

/** Instances behind nginx as it is shipped, with two workers. Starts those for which `starts` is true. */
async function startCluster(starts: readonly boolean[]) {
  const [folder, port, ports] = [await temporaryFolder(), await freePort(), await freePorts(starts.length)];
  const env = {
    ...productionSettings(),
    ...AMPLE_TIMEOUTS,
    ...UNTHROTTLED,
    DATABASE_URL: postgresOf(app).url,
    DATA_DIR: folder,
    TRUST_PROXY: '127.0.0.1',
    MAX_STREAMS_PER_CLIENT: String(STREAMS),
  };
  const settings = { env, folder, signal: endOfTest() };
  const instances = ports.map((own, index) => new Instance(`instance ${index + 1}`, own, settings));
  for (const instance of instances) onTestFinished(async () => void (await instance.stop('SIGKILL')));
  await Promise.all(instances.filter((_, index) => starts[index]).map((instance) => instance.start(ROOT)));
  const upstream = ports.map((own) => `127.0.0.1:${own}`);
  const configuration = readShippedConfiguration({ port, instances: upstream })
    .replace('worker_processes auto', 'worker_processes 2')
    .replace('worker_shutdown_timeout 1m', 'worker_shutdown_timeout 1s');
  const { home, certificate } = await startNginx(configuration, { folder, port });
  const connect = () => {
    const client = new Http2Client(`https://localhost:${port}`, certificate);
    onTestFinished(() => client.close());
    return client;
  };
  const reload = async () => process.kill(Number(await readFile(`${home}/nginx.pid`, 'utf8')), 'SIGHUP');
  return { instances, connect, reload };
}

/** Opens streams, each on its own connection, which send no other request, and leaves them open until the test ends. */
async function openStreams(connect: () => Http2Client): Promise<readonly Subscriber[]> {
  const { key } = await app.account();
  const stopped = new AbortController();
  const subscribers = Array.from({ length: STREAMS }, () => new Subscriber(connect(), key, stopped.signal));
  const following = subscribers.map((subscriber) => subscriber.follow());
  onTestFinished(async () => {
    stopped.abort();
    await Promise.all(following);
  });
  await Promise.all(subscribers.map(({ opened }) => opened));
  return subscribers;
}

async function countStreams({ port }: Instance): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^content_graph_event_streams_open (\d+)$/m.exec(metrics)?.[1]);
}

it.each(['SIGKILL', 'SIGTERM'] as const)(
  'while one instance of two is ready, nginx rejects no stream: %s of both, one after the other',
  async (signal) => {
    const { instances, connect } = await startCluster([true, true]);
    const [first, second] = instances as [Instance, Instance];
    const subscribers = await openStreams(connect);
    const rejections = () => subscribers.flatMap((subscriber) => subscriber.rejections);
    for (const [stopped, remaining] of [
      [first, second],
      [second, first],
    ] as const) {
      await stopped.stop(signal);
      const isDecided = async () => rejections().length > 0 || (await countStreams(remaining)) === STREAMS;
      await until('all streams on one instance', isDecided);
      await stopped.start(ROOT);
    }
    expect(rejections()).toEqual([]);
  },
);

it('while one instance of three is ready, nginx sends every request to it', async () => {
  const { connect } = await startCluster([false, false, true]);
  const { key } = await app.account();
  const client = connect();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query: 'mutation { createPost(title: "Once", body: "b") { id } }' });
  const send = () => client.send({ method: 'POST', path: '/graphql', headers, body });
  // One at a time, so that nginx reaches each instance first for some of them.
  for (let count = 0; count < 9; count += 1) expect((await send()).status).toBe(200);
  expect(await app.prisma.post.count()).toBe(9);
});

it('after a reload of nginx, its old workers close their streams, and clients reconnect', async () => {
  const { connect, reload } = await startCluster([true]);
  const subscribers = await openStreams(connect);
  await reload();
  await until('a new stream for each', () => subscribers.every(({ reconnects }) => reconnects > 0));
  expect(subscribers.flatMap(({ rejections }) => rejections)).toEqual([]);
});
