/**
 * Demonstrates several instances as one service: starts PostgreSQL, two instances and nginx in a temporary
 * folder, on free loopback ports, and follows a post from one instance to a subscriber of the other. Removes
 * everything afterwards.
 */
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePorts, run, type Service, SetupError, start, until } from './cluster/processes.ts';
import { findNginx, findPostgres, startNginx, startPostgres } from './cluster/programs.ts';
import { Subscriber } from './cluster/subscriber.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const LIMIT_MS = 120_000;

const say = (text: string) => void process.stdout.write(`${text}\n`);

interface Instance extends Service {
  readonly name: string;
  readonly url: string;
}

async function startInstance(
  name: string,
  databaseUrl: string,
  { folder, port, signal }: { folder: string; port: number; signal: AbortSignal },
): Promise<Instance> {
  const url = `http://127.0.0.1:${port}`;
  const env = {
    NODE_ENV: 'development',
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder,
    PORT: String(port),
    LOG_LEVEL: 'warn',
  };
  const service = start({ file: process.execPath, args: [join(ROOT, 'src/main.ts')], cwd: folder, env });
  await until(name, async () => (await fetch(`${url}/health/ready`)).ok, { service, signal });
  return { ...service, name, url };
}

/** Creates an account and an API key with the admin command. Returns the key. */
async function createKey(databaseUrl: string, folder: string): Promise<string> {
  const admin = (...args: string[]) =>
    run({
      file: process.execPath,
      args: [join(ROOT, 'src/admin/main.ts'), ...args],
      cwd: folder,
      env: { DATABASE_URL: databaseUrl, DATA_DIR: folder },
    });
  const email = 'ada@example.com';
  const password = randomBytes(18).toString('base64url');
  await admin('user', 'create', '--name', 'Ada', '--email', email, '--password', password);
  const scopes = 'posts:read posts:write users:read';
  const created = await admin('api-key', 'create', '--user', email, '--name', 'demo', '--scopes', scopes);
  return JSON.parse(created).key;
}

async function createPost(url: string, key: string, title: string): Promise<void> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      query: 'mutation ($title: String!) { createPost(title: $title, body: "From the demo.") { id } }',
      variables: { title },
    }),
  });
  const answer = await response.text();
  if (response.status !== 200 || answer.includes('"errors"'))
    throw new Error(`the post was not created: ${answer}`);
}

/** The instance that serves the subscriber's stream, according to its metrics. */
async function findHolder(instances: readonly Instance[]): Promise<Instance> {
  for (const instance of instances) {
    const metrics = await (await fetch(`${instance.url}/metrics`)).text();
    if (/^event_streams_open 1$/m.test(metrics)) return instance;
  }
  throw new Error('no instance serves the stream');
}

async function expectPost(subscriber: Subscriber, title: string): Promise<void> {
  const data = await subscriber.next();
  if (data === undefined || JSON.parse(data).data?.postCreated.title !== title)
    throw new Error(`expected the post "${title}", got ${data ?? 'the end of the stream'}`);
  say(`   The subscriber receives: ${data}`);
}

async function demonstrate(folder: string, services: Service[], signal: AbortSignal): Promise<void> {
  const [postgresBin, nginxFile] = [findPostgres(), findNginx()];
  const [databasePort = 0, onePort = 0, twoPort = 0, proxyPort = 0] = await freePorts(4);
  const keep = <T extends Service>(service: T): T => {
    services.push(service);
    return service;
  };

  say(`1. Start PostgreSQL on port ${databasePort}, with its data in ${folder}.`);
  const database = await startPostgres(postgresBin, { folder, port: databasePort, signal });
  keep(database.service);
  say(`2. Start two instances on that database, on ports ${onePort} and ${twoPort}.`);
  const one = keep(await startInstance('instance one', database.url, { folder, port: onePort, signal }));
  const two = keep(await startInstance('instance two', database.url, { folder, port: twoPort, signal }));
  const key = await createKey(database.url, folder);
  say(`3. Start nginx in front of both on port ${proxyPort}: round robin, default proxy settings.`);
  const proxy = await startNginx(nginxFile, [onePort, twoPort], { folder, port: proxyPort, signal });
  keep(proxy.service);

  const subscriber = new Subscriber(proxy.url, key);
  await subscriber.connect(signal);
  const holder = await findHolder([one, two]);
  const other = holder === one ? two : one;
  say(`4. A subscriber connects through nginx, which routes it to ${holder.name}.`);
  say(`5. A post is created on ${other.name}.`);
  await createPost(other.url, key, `Hello from ${other.name}`);
  await expectPost(subscriber, `Hello from ${other.name}`);

  say(`6. ${holder.name} is killed (SIGKILL), and another post is created.`);
  await holder.stop('SIGKILL');
  await createPost(other.url, key, 'Made while you were away');
  if ((await subscriber.next()) !== undefined)
    throw new Error('the stream of the killed instance did not end');
  say('7. The subscriber reconnects through nginx with the id of its last event.');
  await subscriber.connect(signal);
  await expectPost(subscriber, 'Made while you were away');
  say('It works: no event was lost or delivered twice.');
}

async function main(): Promise<void> {
  const services: Service[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-cluster-'));
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error('the demo took too long')), LIMIT_MS);
  process.once('SIGINT', () => limit.abort(new Error('interrupted')));
  const aborted = new Promise<never>((_, reject) => {
    limit.signal.addEventListener('abort', () => reject(limit.signal.reason));
  });
  try {
    // The users of PostgreSQL and nginx must be able to reach their files.
    await chmod(folder, 0o755);
    await Promise.race([demonstrate(folder, services, limit.signal), aborted]);
  } finally {
    clearTimeout(timer);
    for (const service of services.reverse()) await service.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    say('Everything has been stopped and removed.');
  }
}

try {
  await main();
  process.exit(0);
} catch (error) {
  process.stderr.write(`${error instanceof SetupError ? error.message : (error as Error).stack}\n`);
  process.exit(1);
}
