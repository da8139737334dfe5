import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Client, createClient } from 'content-graph-client';
import { expect, it, onTestFinished } from 'vitest';
import * as eventSource from '../../examples/clients/event-source/follow-posts.ts';
import * as tada from '../../examples/clients/gql-tada/posts.ts';
import * as graphqlSse from '../../examples/clients/graphql-sse/post-changes.ts';
import { createUrqlClient } from '../../examples/clients/urql/client.ts';
import * as urql from '../../examples/clients/urql/posts.ts';
import { ROOT, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { provideBrowserGlobals } from './browser-globals.ts';
import { type LiveService, startService } from './live-service.ts';

interface Change {
  readonly kind: string;
  readonly post: { readonly title: string } | null;
}

/** What a recipe has received, and why its stream is not open. */
class Received {
  /** The titles of new posts. */
  readonly titles: string[] = [];
  /** Everything else. */
  readonly others: string[] = [];
  readonly statuses = new Set<string>();
  rejection: string | undefined;
  /** Shortens pauses. */
  readonly retry: () => void;
  readonly onChange = ({ kind, post }: Change) => {
    if (post === null) this.others.push(kind);
    else if (kind === 'POST_CREATED') this.titles.push(post.title);
    else this.others.push(`${kind} ${post.title}`);
  };
  readonly onError = (error: Error) => {
    this.rejection = error.message;
  };

  constructor(client?: Client) {
    this.retry = () => client?.retry();
    client?.state.subscribe((state) => {
      this.statuses.add(state.status);
      if (state.status === 'reconnecting' && state.reason === 'unauthenticated')
        this.rejection = state.reason;
    });
  }
}

/** A client that is closed with the test, and what it receives. */
function open({ url, headers = {} }: Pick<LiveService, 'url'> & { readonly headers?: HeadersInit }): {
  readonly client: Client;
  readonly received: Received;
} {
  const client = createClient({ url, headers });
  onTestFinished(() => client.close());
  return { client, received: new Received(client) };
}

function withTada(service: LiveService): Received {
  const { client, received } = open(service);
  const read = async () => {
    for await (const event of tada.followPosts(client))
      if (event.type === 'data') received.onChange(event.data.changes);
  };
  read().catch(received.onError);
  return received;
}

function withUrql(service: LiveService): Received {
  const { client, received } = open(service);
  onTestFinished(urql.followPosts(createUrqlClient(client), received.onChange));
  return received;
}

function withGraphqlSse(service: LiveService): Received {
  const { client, received } = open(service);
  const read = async () => {
    for await (const change of graphqlSse.followPosts(client, service.url, service.headers))
      received.onChange(change);
  };
  read().catch(received.onError);
  return received;
}

function withEventSource({ url, headers }: LiveService, by: 'cookie' | 'token'): Received {
  const { client, received } = open(by === 'cookie' ? { url } : { url, headers });
  eventSource.followPosts(client, received.onChange, { by }).catch(received.onError);
  return received;
}

function withCurl({ origin, key, dataDir }: LiveService): Received {
  const received = new Received();
  // A process group of its own: the script runs curl in the middle of a pipeline.
  const child = spawn('examples/clients/curl/follow-posts.sh', [join(dataDir, 'last-event-id')], {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ORIGIN: origin, KEY: key },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  });
  let last = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    last = line;
    const { data } = JSON.parse(line);
    if (data != null) received.onChange(data.changes);
  });
  child.once('close', () => {
    received.rejection = last;
  });
  onTestFinished(() => {
    if (received.rejection === undefined && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  return received;
}

function follow(service: LiveService) {
  return {
    client: withTada(service),
    urql: withUrql(service),
    'graphql-sse': withGraphqlSse(service),
    'EventSource by token': withEventSource(service, 'token'),
    'EventSource by cookie': withEventSource(service, 'cookie'),
    curl: withCurl(service),
  };
}

async function login({ origin, password }: LiveService): Promise<string> {
  const response = await fetch(`${origin}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'grace@example.com', password }),
  });
  return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
}

it('each recipe has each post once and in order, over servers that are killed or shut down, until it is rejected', async () => {
  const service = await startService();
  const cookie = await login(service);
  provideBrowserGlobals(cookie);
  const recipes = follow(service);
  const all = Object.values(recipes);
  /** Waits until every recipe has received the last of these posts, and expects that it has received all. */
  const told = async (...titles: string[]) => {
    await until(titles.at(-1) ?? '', () => all.every((one) => one.titles.includes(titles.at(-1) ?? '')));
    for (const [name, one] of Object.entries(recipes))
      expect(
        one.titles.filter((title) => title !== 'opened?'),
        name,
      ).toEqual(titles);
  };
  // Only its events show that a stream is open.
  await until('open streams', async () => {
    await service.create('opened?');
    return all.every(({ titles }) => titles.length > 0);
  });
  await service.create('one', 'two');
  await told('one', 'two');

  const retry = () => {
    for (const one of all) one.retry();
  };
  await service.restart('SIGKILL', 'three', 'four');
  retry();
  await service.create('five');
  await told('one', 'two', 'three', 'four', 'five');
  const { data } = await service.query('{ posts(limit: 2) { id } }');
  const [edited, deleted] = data.posts;
  await service.query('mutation ($id: ID!) { updatePost(id: $id, title: "5") { id } }', edited);
  await service.query('mutation ($id: ID!) { deletePost(id: $id) }', deleted);
  await service.restart('SIGTERM', 'six');
  retry();
  await service.create('seven');
  await told('one', 'two', 'three', 'four', 'five', 'six', 'seven');
  for (const [name, { others }] of Object.entries(recipes))
    expect(others, name).toEqual(['POST_UPDATED 5', 'POST_DELETED']);
  expect(all.map(({ rejection }) => rejection)).toEqual(all.map(() => undefined));

  const keys = await admin(['api-key', 'list'], service.dataDir);
  for (const { id } of keys.json) await admin(['api-key', 'revoke', id], service.dataDir);
  await fetch(`${service.origin}/logout`, { method: 'POST', headers: { cookie } });
  await until('the rejections', () => all.every(({ rejection }) => rejection !== undefined));
  for (const [name, { rejection }] of Object.entries(recipes))
    expect(rejection, name).toMatch(/unauthenticated|revoked|ended|expired/);
  await told('one', 'two', 'three', 'four', 'five', 'six', 'seven');
});

it('each recipe that is opened while the service is unavailable receives posts once it is available', async () => {
  const service = await startService();
  provideBrowserGlobals(await login(service));
  await service.end('SIGKILL');
  const recipes = follow(service);
  const { curl, ...clients } = recipes;
  const hasFailed = ({ statuses }: Received) => statuses.has('reconnecting');
  await until('failed attempts', () => Object.values(clients).every(hasFailed));
  await service.start();
  for (const one of [...Object.values(clients), curl]) one.retry();
  await until('open streams', async () => {
    for (const [name, { rejection }] of Object.entries(recipes)) expect(rejection, name).toBeUndefined();
    await service.create('opened?');
    return Object.values(recipes).every(({ titles }) => titles.length > 0);
  });
});

it('without credentials, each recipe is rejected', async () => {
  const service = await startService();
  provideBrowserGlobals('');
  const stranger = { ...service, key: 'unknown', headers: { authorization: 'Bearer unknown' } };
  const { 'graphql-sse': _tried, ...all } = follow(stranger);
  await until('the rejections', () => Object.values(all).every(({ rejection }) => rejection !== undefined));
});
