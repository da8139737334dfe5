import { describe, expect, it } from 'vitest';
import { oldApiKeyUses } from '../../../src/auth/api-keys.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

const MINUTE_MS = 60_000;
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const MAX_ADDRESSES = 50;

const time = { now: Date.now() };
const app = useApp({ clock: clockOf(() => time.now), settings: { TRUST_PROXY: '127.0.0.1' } });

async function holder() {
  const { id, key, email } = await app.account();
  const { id: keyId } = await app.prisma.apiKey.findFirstOrThrow({ where: { userId: id } });
  const shown = async () => (await adminCommand(app, ['api-key', 'show', keyId])).json;
  return {
    ...{ id, keyId, email, shown },
    ask: async (address: string, userAgent = 'curl/8.0') => {
      const headers = { 'x-forwarded-for': address, 'x-forwarded-proto': 'https', 'user-agent': userAgent };
      expect((await app.fetch('/graphql', graphqlPost('{ viewer { id } }', { key, headers }))).status).toBe(
        200,
      );
    },
    addresses: async (): Promise<string[]> =>
      (await shown()).uses.map(({ address }: { address: string }) => address),
  };
}

describe('api-key show', () => {
  it('has the addresses that used a key, each with its last user agent, the last use first', async () => {
    const { keyId, email, ask, shown, addresses } = await holder();
    expect((await shown()).uses).toEqual([]);
    await ask('192.0.2.1');
    await expect.poll(addresses).toEqual(['192.0.2.1']);
    await ask('2001:db8:1:2:3:4:5:6', `attack/1.0 ${'x'.repeat(300)}`);
    await expect.poll(addresses).toEqual(['2001:db8:1:2::/64', '192.0.2.1']);
    time.now += MINUTE_MS;
    await ask('192.0.2.1', 'other/2.0');
    await expect.poll(addresses).toEqual(['192.0.2.1', '2001:db8:1:2::/64']);
    expect(await shown()).toMatchObject({
      ...{ id: keyId, user: email, name: 'test', revokedAt: null },
      uses: [
        { address: '192.0.2.1', userAgent: 'other/2.0', firstAt: TIME, lastAt: TIME },
        { userAgent: expect.stringMatching(/^attack\/1\.0 x{189}$/), firstAt: TIME, lastAt: TIME },
      ],
    });
  });

  it('says that there is no such key', async () => {
    for (const id of ['none', '00000000-0000-7000-8000-000000000000'])
      expect(await adminCommand(app, ['api-key', 'show', id])).toMatchObject({
        failure: expect.stringContaining(id),
      });
  });
});

describe('The addresses of a key', () => {
  it('are not those of requests that were rejected', async () => {
    const { keyId, addresses, ask } = await holder();
    await adminCommand(app, ['api-key', 'suspend', keyId]);
    time.now += MINUTE_MS;
    await expect(ask('192.0.2.9')).rejects.toThrow();
    await adminCommand(app, ['api-key', 'resume', keyId]);
    time.now += MINUTE_MS;
    await ask('192.0.2.10');
    await expect.poll(addresses).toEqual(['192.0.2.10']);
  });

  it('are at most 50, those of the last uses', async () => {
    const { keyId, addresses, ask } = await holder();
    const day = 86_400_000;
    await app.prisma.apiKeyUse.createMany({
      data: Array.from({ length: MAX_ADDRESSES }, (_, index) => {
        const at = new Date(Date.now() - day - index);
        return { keyId, address: `198.51.100.${index}`, userAgent: null, firstAt: at, lastAt: at };
      }),
    });
    await ask('192.0.2.1');
    await expect.poll(async () => (await addresses()).at(-1)).toBe(`198.51.100.${MAX_ADDRESSES - 2}`);
    expect(await addresses()).toHaveLength(MAX_ADDRESSES);
    expect((await addresses())[0]).toBe('192.0.2.1');
  });

  it('are deleted 30 days after their last use, and with the key', async () => {
    const { keyId } = await holder();
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000);
    await app.prisma.apiKeyUse.createMany({
      data: [29, 31].map((days) => ({
        ...{ keyId, address: `${days}`, userAgent: null, firstAt: daysAgo(99), lastAt: daysAgo(days) },
      })),
    });
    await oldApiKeyUses.run(app.database);
    const left = () => app.prisma.apiKeyUse.findMany({ where: { keyId } });
    expect(await left()).toMatchObject([{ address: '29' }]);
    await app.prisma.apiKey.delete({ where: { id: keyId } });
    expect(await left()).toEqual([]);
  });

  it('are part of the export of the account', async () => {
    const { email, ask, addresses } = await holder();
    await ask('192.0.2.1');
    await expect.poll(addresses).toEqual(['192.0.2.1']);
    const { json } = await adminCommand(app, ['user', 'export', email]);
    expect(json.apiKeys).toMatchObject([
      { uses: [{ address: '192.0.2.1', userAgent: 'curl/8.0', firstAt: expect.any(String) }] },
    ]);
  });
});
