import { describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

const app = useApp({
  settings: { RATE_LIMIT_BURST: '1000', RATE_LIMIT_PER_SECOND: '1000', ACCOUNT_RATE_LIMIT_FACTOR: '4' },
});
const TYPENAME = graphqlPost('{ __typename }');

async function run(...args: readonly string[]) {
  const { json, failure } = await adminCommand(app, args);
  expect(failure).toBeUndefined();
  return json;
}

const keyIdOf = async (email: string) =>
  (await run('api-key', 'list')).find(({ user }: { user: string }) => user === email).id;

/** What a request with the key is told of the emptier of its buckets. */
async function policyOf(key: string, instance: Pick<TestApp, 'fetch'> = app) {
  const { headers } = await instance.fetch('/graphql', graphqlPost('{ __typename }', { key }));
  return headers.get('ratelimit-policy');
}
const statusOf = async (key: string, instance: Pick<TestApp, 'fetch'> = app) =>
  (await instance.fetch('/graphql', graphqlPost('{ __typename }', { key }))).status;

describe('The limits of a key', () => {
  it('are changed on all instances while it is used, and are those of the settings again by --default', async () => {
    const { key, email } = await app.account();
    const other = secondInstance(app);
    const id = await keyIdOf(email);
    expect(await policyOf(key)).toBe('"default";q=1000;w=1');
    expect(await run('api-key', 'set-limits', id, '--burst', '5', '--per-second', '0.5')).toEqual({
      id,
      burst: 5,
      perSecond: 0.5,
    });
    for (const instance of [app, other])
      await expect.poll(() => policyOf(key, instance)).toBe('"default";q=5;w=10');
    expect(await run('api-key', 'set-limits', id, '--per-second', '1')).toMatchObject({
      burst: 5,
      perSecond: 1,
    });
    await expect.poll(() => policyOf(key)).toBe('"default";q=5;w=5');
    await expect.poll(() => statusOf(key), { interval: 1 }).toBe(429);
    expect(await run('api-key', 'list')).toContainEqual(
      expect.objectContaining({ id, burst: 5, perSecond: 1 }),
    );
    expect(await run('api-key', 'set-limits', id, '--reset')).toEqual({ id, burst: null, perSecond: null });
    for (const instance of [app, other])
      await expect.poll(() => policyOf(key, instance)).toBe('"default";q=1000;w=1');
  });

  it('need to be given, of a key that is there', async () => {
    const { email } = await app.account();
    const id = await keyIdOf(email);
    for (const options of [[], ['--reset', '--burst', '3'], ['--burst', '0'], ['--per-second', 'x']])
      await expect(adminCommand(app, ['api-key', 'set-limits', id, ...options])).rejects.toMatchObject({
        exitCode: expect.any(Number),
      });
    await run('api-key', 'revoke', id);
    for (const gone of [id, 'none', '00000000-0000-7000-8000-000000000000'])
      expect((await adminCommand(app, ['api-key', 'set-limits', gone, '--reset'])).failure).toContain(
        'does not exist, or is',
      );
  });
});

describe('A suspended key', () => {
  it('is rejected on all instances, its streams end, and those of its account stay; resumed, it works again', async () => {
    const { key, email } = await app.account();
    const other = secondInstance(app);
    const id = await keyIdOf(email);
    const { key: second } = await run(
      'api-key',
      'create',
      '--user',
      email,
      '--name',
      'b',
      '--scopes',
      'posts:read',
    );
    const open = async (instance: Pick<TestApp, 'fetch'>, own: string) => {
      const headers = { accept: 'text/event-stream' };
      const query = 'subscription { postCreated { id } }';
      const stream = readEventStream(
        await instance.fetch('/graphql', graphqlPost(query, { key: own, headers })),
      );
      await stream.block();
      return stream;
    };
    const { token } = await (
      await app.fetch('/graphql/stream-token', graphqlPost('subscription { postCreated { id } }', { key }))
    ).json();
    const tokens = () =>
      app.fetch(`/graphql?stream_token=${token}`, { headers: { accept: 'text/event-stream' } });
    const streams = [await open(app, key), await open(other, key), readEventStream(await tokens())];
    await streams[2]?.block();
    const stays = await open(app, second);

    expect(await run('api-key', 'suspend', id)).toEqual({ id, suspended: true });
    for (const instance of [app, other]) await expect.poll(() => statusOf(key, instance)).toBe(401);
    for (const stream of streams)
      expect((await stream.next()).errors).toMatchObject([{ extensions: { code: 'UNAUTHENTICATED' } }]);
    expect((await tokens()).status).toBe(401);
    expect(await run('api-key', 'list')).toContainEqual(
      expect.objectContaining({ id, suspendedAt: expect.any(String), revokedAt: null }),
    );
    expect((await adminCommand(app, ['api-key', 'suspend', id])).failure).toContain('already suspended');

    expect(await run('api-key', 'resume', id)).toEqual({ id, suspended: false });
    for (const instance of [app, other]) await expect.poll(() => statusOf(key, instance)).toBe(200);
    await readEventStream(await tokens()).block();
    expect((await adminCommand(app, ['api-key', 'resume', id])).failure).toContain('not suspended');
    const post = await createPost(app, key);
    expect((await stays.next()).data.postCreated.id).toBe(post);
  });

  it('stays revoked if it was', async () => {
    const { email } = await app.account();
    const id = await keyIdOf(email);
    await run('api-key', 'suspend', id);
    await run('api-key', 'revoke', id);
    expect((await adminCommand(app, ['api-key', 'resume', id])).failure).toContain('does not exist, or is');
  });
});

describe('The limits of an account', () => {
  it('hold for all of its credentials together, and none of them has more', async () => {
    const { key, email, id } = await app.account();
    const other = secondInstance(app);
    const generous = await run(
      ...['api-key', 'create', '--user', email, '--name', 'g', '--scopes', 'posts:read', '--burst', '5000'],
    );
    expect(await policyOf(generous.key)).toBe('"default";q=5000;w=5');
    const limits = ['--burst', '20', '--per-second', '0.01'];
    expect(await run('user', 'set-limits', email, ...limits)).toEqual({ id, burst: 20, perSecond: 0.01 });
    for (const instance of [app, other])
      for (const own of [key, generous.key])
        await expect.poll(() => policyOf(own, instance)).toBe('"default";q=20;w=2000');
    // Each of them takes from the same bucket.
    await expect.poll(() => statusOf(key), { interval: 1 }).toBe(429);
    const rejected = await app.fetch('/graphql', graphqlPost('{ __typename }', { key: generous.key }));
    expect(rejected.status).toBe(429);
    expect(await rejected.text()).toContain('across all credentials of this account');
    // Others are not held back.
    expect(await statusOf((await app.account()).key)).toBe(200);

    expect(await run('user', 'set-limits', email, '--burst', '100')).toEqual({
      id,
      burst: 100,
      perSecond: 0.01,
    });
    await expect.poll(() => statusOf(key)).toBe(200);
    expect(await run('user', 'set-limits', email, '--reset')).toEqual({ id, burst: null, perSecond: null });
    await expect.poll(() => policyOf(generous.key)).toBe('"default";q=5000;w=5');
  });

  it('of one bucket, without the other number, are for the rest as the settings say', async () => {
    const { key, email } = await app.account();
    await run('user', 'set-limits', email, '--burst', '100');
    await expect.poll(() => policyOf(key)).toBe('"default";q=100;w=1');
    await run('user', 'set-limits', email, '--burst', '1000000');
    // The account may have more than the settings allow; each of its credentials has its own limits.
    await expect.poll(() => policyOf(key)).toBe('"default";q=1000;w=1');
  });

  it('go with the account, and belong to what is stored of it', async () => {
    const { email, id } = await app.account();
    await run('user', 'set-limits', email, '--burst', '7');
    expect((await run('user', 'export', email)).limits).toEqual([{ burst: 7, perSecond: null }]);
    await run('user', 'delete', email, '--content', 'delete');
    expect(await app.prisma.accountLimits.findUnique({ where: { userId: id } })).toBeNull();
    expect((await app.fetch('/graphql', TYPENAME)).status).toBeLessThan(500);
  });
});
