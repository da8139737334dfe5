import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { cookieOf, login } from '../../support/credentials/session.ts';
import { graphqlPost, readResponse } from '../../support/graphql.ts';
import { type Settings, until } from '../../support/processes/process.ts';
import { type EventStream, openEventStream } from '../../support/streams/event-stream.ts';
import { createRow } from './check.ts';
import { type Cluster, type Instance, provideCluster } from './cluster.ts';
import type { Person } from './people.ts';
import type { Row } from './results.ts';

const CREATE = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
const SUBSCRIPTION = new URLSearchParams({ query: 'subscription { postCreated { title } }' });
const VIEWER = new URLSearchParams({ query: '{ viewer { name } }' });
/** Even a balancer that draws the instance at random passes some to each. */
const REQUESTS = 16;

/** The settings of instances behind a proxy that has the certificate. */
export const PRODUCTION: Settings = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://api.example.com',
  TRUST_PROXY: '127.0.0.1',
};

/** What a proxy starts with. */
export interface ProxyPlace {
  /** The instances that it passes requests to. */
  readonly instances: readonly [Instance, ...Instance[]];
  /** An empty folder. */
  readonly folder: string;
  /** Has something done after the last test. */
  keep(end: () => Promise<unknown>): void;
}

export interface ProxyRow extends Omit<Row<'proxies'>, 'group'> {
  /** Of the instances. Without settings, they run in development. */
  readonly settings?: Settings;
  /** True if it passes requests to the other instance when one is down. */
  readonly balances: boolean;
  /** @returns the origin of the proxy */
  start(place: ProxyPlace): Promise<string>;
}

/** An open stream of new posts. */
interface Stream {
  readonly events: EventStream;
  /** The instance that it comes from. */
  readonly instance: Instance;
}

interface ReceivedEvent {
  readonly id: string;
  readonly title: string;
  /** How many heartbeats came before the event. */
  readonly heartbeats: number;
}

async function readEvent(events: EventStream): Promise<ReceivedEvent> {
  for (let heartbeats = 0; ; ) {
    const block = await events.block();
    if (block === undefined) throw new Error('the stream has ended');
    if (block.raw.startsWith(':')) heartbeats += 1;
    if (block.event === undefined) continue;
    const { title } = JSON.parse(block.data ?? '').data.postCreated;
    return { id: block.id ?? '', title, heartbeats };
  }
}

/** Resolves once a stream has broken off or was closed. */
async function readToEnd(events: EventStream): Promise<void> {
  try {
    while ((await events.block()) !== undefined);
  } catch {
    // A stream that breaks off rejects the read.
  }
}

/** Defines the tests of a proxy. @returns what further tests of the row need */
export function describeProxy({ settings = {}, balances, start, ...row }: ProxyRow) {
  const tests = createRow({ group: 'proxies', ...row });
  const cluster = provideCluster(settings);
  const ends: (() => Promise<unknown>)[] = [];
  let origin = '';

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'content-graph-proxy-'));
    ends.push(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
    const { first, second } = cluster();
    const instances: ProxyPlace['instances'] = balances ? [first, second] : [first];
    origin = await start({ instances, folder, keep: (end) => void ends.push(end) });
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });

  const send = (path: string, init?: RequestInit) => fetch(new URL(path, origin), init);
  const get = ({ key }: Person, headers: Readonly<Record<string, string>> = {}) =>
    send(`/graphql?${VIEWER}`, { headers: { authorization: `Bearer ${key}`, ...headers } });

  /** Opens a stream, and tries again until the proxy reaches an instance. */
  async function openStream({ ada, first, second }: Cluster, lastEventId?: string) {
    const headers = {
      accept: 'text/event-stream',
      authorization: `Bearer ${ada.key}`,
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    };
    const rejections: number[] = [];
    const response = await until('a stream', async () => {
      const opened = await send(`/graphql?${SUBSCRIPTION}`, { headers });
      if (opened.status === 200) return opened;
      rejections.push(opened.status);
      await opened.body?.cancel();
      return undefined;
    });
    const events = openEventStream(response);
    onTestFinished(() => events.close().catch(() => undefined));
    // The first block has the position of the stream. Earlier posts are not its events.
    expect((await events.block())?.id).toMatch(/./);
    const instance = await until('the instance of the stream', async () => {
      for (const candidate of [first, second])
        if ((await candidate.openStreams().catch(() => 0)) > 0) return candidate;
      return undefined;
    });
    const stream: Stream = { events, instance };
    return { stream, rejections };
  }

  tests.check('requests', 'passes requests and responses on, and mixes up no accounts', async () => {
    const { ada, grace } = cluster();
    const names = [];
    for (const person of [ada, grace, ada])
      names.push((await readResponse(await get(person))).data.viewer.name);
    expect(names).toEqual(['Ada', 'Grace', 'Ada']);
    const etag = (await get(ada)).headers.get('etag') ?? '';
    expect((await get(ada, { 'if-none-match': etag })).status).toBe(304);
    const keyed = graphqlPost(CREATE, {
      key: ada.key,
      variables: { title: 'sent twice' },
      headers: { 'idempotency-key': 'task 1' },
    });
    const [created, replayed] = [
      await readResponse(await send('/graphql', keyed)),
      await readResponse(await send('/graphql', keyed)),
    ];
    expect(replayed.data).toEqual(created.data);
    expect(replayed.headers.get('idempotency-replayed')).toBe('true');
    expect(await cluster().count('sent twice')).toBe(1);
    const rejected = await readResponse(await send('/graphql', graphqlPost('{ posts { id } }')));
    expect(rejected).toMatchObject({ status: 401, errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] });
  });

  tests.check('streams', 'passes each event on, and closes streams', async () => {
    const { instance, events } = (await openStream(cluster())).stream;
    // A proxy that collects pieces passes an event on with the next heartbeat.
    let heartbeats = 0;
    const titles = ['one', 'two', 'three'];
    for (const title of titles) {
      await instance.create(title);
      const event = await readEvent(events);
      expect(event.title).toBe(title);
      heartbeats += event.heartbeats;
    }
    expect(heartbeats).toBeLessThan(titles.length);
    await events.close();
    await until('the end of the stream', async () => (await instance.openStreams()) === 0);
  });

  tests.check('streams', 'reaches an instance that is ready when a stream breaks off', async () => {
    const { first, second } = cluster();
    let { stream } = await openStream(cluster());
    for (const round of balances ? ['first', 'second'] : ['only']) {
      const { instance, events } = stream;
      const other = instance === first ? second : first;
      await instance.create(`before the ${round} kill`);
      const seen = await readEvent(events);
      expect(seen.title).toBe(`before the ${round} kill`);
      await instance.end('SIGKILL');
      await readToEnd(events);
      await other.create(`missed in the ${round} kill`);
      if (!balances) await instance.start();
      const next = await openStream(cluster(), seen.id);
      if (balances) {
        expect(next.rejections).toEqual([]);
        // A balancer passes some of the requests to the killed instance first.
        for (let request = 0; request < REQUESTS; request += 1)
          expect((await get(cluster().ada)).status).toBe(200);
      }
      stream = next.stream;
      expect((await readEvent(stream.events)).title).toBe(`missed in the ${round} kill`);
      if (balances) await instance.start();
    }
  });

  tests.check('sessions', 'lets its own pages sign in and write, and no other pages', async () => {
    const { ada } = cluster();
    const pages = settings.PUBLIC_URL ?? origin;
    const from = { origin: pages };
    const signedIn = await login({ fetch: send }, { email: ada.email, password: ada.password }, from);
    expect(signedIn.status).toBe(200);
    const write = async (headers: Readonly<Record<string, string>>) =>
      readResponse(
        await send('/graphql', graphqlPost(CREATE, { variables: { title: 'of a page' }, headers })),
      );
    const cookie = cookieOf(signedIn);
    expect((await write({ ...from, cookie })).data.createPost.id).toMatch(/./);
    expect(await write({ origin: 'https://other.example', cookie })).toMatchObject({
      status: 403,
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    });
  });

  return { ...tests, cluster, send };
}
