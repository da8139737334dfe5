import { describe, expect, it, onTestFinished } from 'vitest';
import { createClientWithClock } from '../../../packages/client/src/client.ts';
import type { IntentStorage } from '../../../packages/client/src/index.ts';
import { createApiKey, revokeApiKey } from '../../../src/auth/api-keys.ts';
import { type Account, useApp } from '../../support/app.ts';
import { createVirtualClock } from '../../support/client/virtual-clock.ts';
import { until } from '../../support/processes/process.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const socket = useSocket(app);

const CREATE_POST = 'mutation ($title: String!) { createPost(title: $title, body: "Body") { title } }';

/** What becomes of one request: its response is lost, something else responds in place of the service, or neither. */
type Fate = 'lost' | 'delivered' | (() => Response);

const createPage = (status: number) => () =>
  new Response('<h1>Sign in to the network</h1>', { status, headers: { 'content-type': 'text/html' } });
const createRejection = (code: string, status: number) => () =>
  new Response(JSON.stringify({ errors: [{ message: 'Denied', extensions: { code } }] }), {
    status,
    headers: { 'content-type': 'application/json' },
  });
const createUnauthenticated = createRejection('UNAUTHENTICATED', 401);

function createStorage(): IntentStorage {
  const items = new Map<string, string>();
  return {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
  };
}

/** A page whose requests have these fates. A reload opens another page with the same storage. */
function openPage({ id, key }: Account, storage: IntentStorage, fates: Fate[]) {
  const client = createClientWithClock(
    {
      url: `${socket.origin}/graphql`,
      identity: id,
      storage,
      headers: { authorization: `Bearer ${key}` },
      fetch: async (input, init) => {
        const fate = fates.shift() ?? 'delivered';
        if (typeof fate === 'function') return fate();
        const response = await fetch(input, init);
        if (fate === 'delivered') return response;
        await response.text();
        throw new TypeError('The connection was closed.');
      },
    },
    createVirtualClock(),
  );
  onTestFinished(() => client.close());
  const intent = client.intent('write');
  return {
    intent,
    query: () => client.query('{ posts(limit: 1) { id } }', {}),
    send: () => client.mutate(CREATE_POST, { title: 'Sent' }, { intent }),
    close: () => client.close(),
  };
}

/** What comes after the lost response, and the error that the person sees. A 408 is repeated within the call. */
const SEQUELS: readonly (readonly [string, () => Response, string | undefined])[] = [
  ['408', createPage(408), undefined],
  ['the login page of a network', createPage(200), 'UNEXPECTED_RESPONSE'],
  ['a page with 403', createPage(403), 'UNEXPECTED_RESPONSE'],
  ['FORBIDDEN', createRejection('FORBIDDEN', 403), 'FORBIDDEN'],
];

describe('A mutation is executed once after a lost response', () => {
  it.each(
    SEQUELS.flatMap(([name, sequel, code]) =>
      [false, true].map((isReloaded) => ({ name, sequel, code, isReloaded })),
    ),
  )('followed by $name, with a reload: $isReloaded', async ({ sequel, code, isReloaded }) => {
    const account = await app.account();
    const storage = createStorage();
    let page = openPage(account, storage, ['lost', sequel]);
    if (code === undefined) expect(await page.send()).toMatchObject({ replayed: true });
    else {
      await expect(page.send()).rejects.toMatchObject({ code, isOutcomeUnknown: true });
      if (isReloaded) {
        page.close();
        page = openPage(account, storage, ['lost']);
      }
      expect(page.intent.isOpen).toBe(true);
      expect(await page.send()).toMatchObject({ replayed: true });
    }
    expect(page.intent.isOpen).toBe(false);
    expect(await app.prisma.post.count({ where: { authorId: account.id } })).toBe(1);
  });

  it('by a page that is reloaded while its request is pending', async () => {
    const account = await app.account();
    const storage = createStorage();
    const left = openPage(account, storage, ['lost']);
    const pending = left.send();
    pending.catch(() => undefined);
    left.close();
    await expect(pending).rejects.toMatchObject({ name: 'AbortError' });
    const page = openPage(account, storage, []);
    await page.send();
    expect(await app.prisma.post.count({ where: { authorId: account.id } })).toBe(1);
  });
});

describe('A query after a lost response', () => {
  it.each(SEQUELS)(
    'followed by %s is repeated, or fails with what a proxy or the service says',
    async (_name, sequel, code) => {
      const page = openPage(await app.account(), createStorage(), ['lost', sequel]);
      if (code === undefined) expect(await page.query()).toMatchObject({ errors: [] });
      else await expect(page.query()).rejects.toMatchObject({ code });
    },
  );
});

describe('After the credentials are revoked', () => {
  it('queries fail, and a mutation is executed once with other credentials of the account', async () => {
    const account = await app.account();
    const storage = createStorage();
    const page = openPage(account, storage, ['lost']);
    await expect(page.send()).resolves.toMatchObject({ replayed: true });
    const { id } = await app.prisma.apiKey.findFirstOrThrow({ where: { userId: account.id } });
    await revokeApiKey(app.database, id);
    const findError = () =>
      page.query().then(
        () => undefined,
        (error: unknown) => error,
      );
    const error = await until('the revocation', findError);
    expect(error).toMatchObject({ code: 'UNAUTHENTICATED', isRetryable: false });
    await expect(page.send()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', isOutcomeUnknown: false });
    expect(page.intent.isOpen).toBe(false);
    page.close();
    const scopes = ['posts:read', 'posts:write'] as const;
    const { key } = await createApiKey(app.database, { userId: account.id, name: 'other', scopes });
    const next = openPage({ ...account, key }, storage, []);
    expect(await next.send()).toMatchObject({ replayed: false });
    expect(await app.prisma.post.count({ where: { authorId: account.id } })).toBe(2);
  });

  it('a mutation whose response was lost keeps its key for other credentials', async () => {
    const account = await app.account();
    const storage = createStorage();
    const page = openPage(account, storage, ['lost', createUnauthenticated]);
    await expect(page.send()).rejects.toMatchObject({ code: 'UNAUTHENTICATED', isOutcomeUnknown: true });
    page.close();
    const next = openPage(account, storage, []);
    expect(next.intent.isOpen).toBe(true);
    expect(await next.send()).toMatchObject({ replayed: true });
    expect(await app.prisma.post.count({ where: { authorId: account.id } })).toBe(1);
  });
});
