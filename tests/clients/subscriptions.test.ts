import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { followPostsByCookie } from '../../examples/clients/event-source/by-cookie.ts';
import { followPostsByToken } from '../../examples/clients/event-source/by-token.ts';
import { postChanges } from '../../examples/clients/graphql-sse/post-changes.ts';
import { createUrqlClient } from '../../examples/clients/urql/client.ts';
import { followPosts, type PostChange } from '../../examples/clients/urql/posts.ts';
import type { StreamState } from '../../examples/resuming-fetch.ts';
import { ROOT, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { provideBrowserGlobals } from './browser-globals.ts';
import { type LiveService, startService } from './live-service.ts';

/** What a recipe has told of, and how its stream has ended. */
class Received {
  /** Of new posts. */
  readonly titles: string[] = [];
  /** What was no new post. */
  readonly others: string[] = [];
  ended: string | undefined;
  readonly onChange = ({ kind, post }: PostChange) => {
    if (post === null) this.others.push(kind);
    else if (kind === 'POST_CREATED') this.titles.push(post.title);
    else this.others.push(`${kind} ${post.title}`);
  };
  readonly onEnd = (error: Error) => {
    this.ended = error.message;
  };
}

function withUrql({ url, headers }: LiveService): Received {
  const received = new Received();
  onTestFinished(followPosts(createUrqlClient(url, headers), received.onChange, received.onEnd));
  return received;
}

function withGraphqlSse({ url, headers }: LiveService, onState?: (state: StreamState) => void): Received {
  const received = new Received();
  const read = async () => {
    for await (const change of postChanges(url, headers, onState)) received.onChange(change);
  };
  read().catch(received.onEnd);
  return received;
}

function withStreamToken({ url, headers }: LiveService): Received {
  const received = new Received();
  onTestFinished(followPostsByToken(url, headers, received));
  return received;
}

function withCookie({ origin }: LiveService): Received {
  const received = new Received();
  onTestFinished(followPostsByCookie(origin, received));
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
    received.ended = last;
  });
  onTestFinished(() => {
    if (received.ended === undefined && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  });
  return received;
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
  const recipes = {
    urql: withUrql(service),
    'graphql-sse': withGraphqlSse(service),
    'EventSource by token': withStreamToken(service),
    'EventSource by cookie': withCookie(service),
    curl: withCurl(service),
  };
  const all = Object.values(recipes);
  /** Waits until every recipe has told of the last of these posts, and looks that it has told of all of them. */
  const told = async (...titles: string[]) => {
    await until(titles.at(-1) ?? '', () => all.every((one) => one.titles.includes(titles.at(-1) ?? '')));
    for (const [name, one] of Object.entries(recipes))
      expect(
        one.titles.filter((title) => title !== 'opened?'),
        name,
      ).toEqual(titles);
  };
  // A stream tells of what is created once it is open. When that is, only its posts tell.
  await until('five open streams', async () => {
    await service.create('opened?');
    return all.every(({ titles }) => titles.length > 0);
  });
  await service.create('one', 'two');
  await told('one', 'two');

  await service.restart('SIGKILL', 'three', 'four');
  await service.create('five');
  await told('one', 'two', 'three', 'four', 'five');
  const { data } = await service.query('{ posts(limit: 2) { id } }');
  const [edited, deleted] = data.posts;
  await service.query('mutation ($id: ID!) { updatePost(id: $id, title: "5") { id } }', edited);
  await service.query('mutation ($id: ID!) { deletePost(id: $id) }', deleted);
  await service.restart('SIGTERM', 'six');
  await service.create('seven');
  await told('one', 'two', 'three', 'four', 'five', 'six', 'seven');
  for (const [name, { others }] of Object.entries(recipes))
    expect(others, name).toEqual(['POST_UPDATED 5', 'POST_DELETED']);
  expect(all.map(({ ended }) => ended)).toEqual(all.map(() => undefined));

  const keys = await admin(['api-key', 'list'], service.dataDir);
  for (const { id } of keys.json) await admin(['api-key', 'revoke', id], service.dataDir);
  await fetch(`${service.origin}/logout`, { method: 'POST', headers: { cookie } });
  await until('the end of each stream', () => all.every(({ ended }) => ended !== undefined));
  for (const [name, { ended }] of Object.entries(recipes))
    expect(ended, name).toMatch(/revoked|ended|expired/);
  await told('one', 'two', 'three', 'four', 'five', 'six', 'seven');
});

it('each recipe that is opened while the service is away has each post once it is there', async () => {
  const service = await startService();
  provideBrowserGlobals(await login(service));
  await service.end('SIGKILL');
  const states: string[] = [];
  const recipes = {
    urql: withUrql(service),
    'graphql-sse': withGraphqlSse(service, ({ status }) => void states.push(status)),
    'EventSource by token': withStreamToken(service),
    'EventSource by cookie': withCookie(service),
    curl: withCurl(service),
  };
  await until('an attempt without an answer', () => states.includes('reconnecting'));
  await service.start();
  await until('five open streams', async () => {
    for (const [name, { ended }] of Object.entries(recipes)) expect(ended, name).toBeUndefined();
    await service.create('opened?');
    return Object.values(recipes).every(({ titles }) => titles.length > 0);
  });
  expect(states[0]).toBe('connecting');
  expect(states.at(-1)).toBe('live');
});

it('is rejected at once without credentials, by EventSource as well', async () => {
  const service = await startService();
  provideBrowserGlobals('');
  const stranger = { ...service, key: 'nobody', headers: { authorization: 'Bearer nobody' } };
  const all = [withUrql(stranger), withStreamToken(stranger), withCookie(stranger), withCurl(stranger)];
  await until('four refusals', () => all.every(({ ended }) => ended !== undefined));
});
