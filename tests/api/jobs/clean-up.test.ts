import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { expiredSessions } from '../../../src/auth/expired.ts';
import type { Job } from '../../../src/jobs/job.ts';
import { useApp } from '../../support/app.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';

const DAY_MS = 86_400_000;
const hash = () => new Uint8Array(randomBytes(32));
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

describe('clean-up', () => {
  const app = useApp();

  /** Rows of every kind: one that nobody needs any more, and one that is still of use. */
  async function rowsOfEveryKind(userId: string) {
    const { prisma } = app;
    const session = (expiresAt: Date) =>
      prisma.session.create({
        data: { userId, hash: hash(), lastSeenAt: inDays(-8), expiresAt, absoluteExpiresAt: expiresAt },
      });
    const key = (dates: { expiresAt?: Date; revokedAt?: Date }) =>
      prisma.apiKey.create({
        data: { userId, name: 'old', prefix: 'cga_', hash: hash(), scopes: [], ...dates },
      });
    const token = (expiresAt: Date) =>
      prisma.streamToken.create({
        data: {
          userId,
          hash: hash(),
          credentialKind: 'session',
          clientId: 'c',
          role: 'member',
          scopes: [],
          operation: '{}',
          lastUsedAt: inDays(-8),
          expiresAt,
          endsAt: expiresAt,
        },
      });
    const response = (createdAt: Date) =>
      prisma.idempotencyKey.create({
        data: {
          userId,
          keyHash: hash(),
          fingerprint: hash(),
          status: 200,
          body: hash(),
          scopes: [],
          createdAt,
        },
      });
    const record = (expiresAt: Date) =>
      prisma.oAuthRecord.create({ data: { model: 'AccessToken', hash: hash(), payload: {}, expiresAt } });
    const blocked = (expiresAt: Date | null) =>
      prisma.revokedToken.create({ data: { jti: randomUUID(), expiresAt } });
    const event = (createdAt: Date) =>
      prisma.event.create({ data: { kind: 'POST_CREATED', rootId: randomUUID(), createdAt } });
    for (const days of [-2, 1]) {
      await session(inDays(days));
      await token(inDays(days));
      await record(inDays(days));
      await blocked(inDays(days));
      await response(inDays(days - 0.5));
      await event(inDays(days - 0.5));
    }
    await blocked(null);
    await key({ expiresAt: inDays(-31) });
    await key({ revokedAt: inDays(-31) });
    await key({ expiresAt: inDays(-29) });
    await key({ revokedAt: inDays(-29), expiresAt: inDays(-29) });
  }

  it('removes what nobody needs any more, of every kind, and nothing else', async () => {
    const { id } = await app.account();
    await rowsOfEveryKind(id);
    await eventsReadable(app);
    const { runAll, metrics } = cleanUp(app);
    await runAll();
    const { prisma } = app;
    const left = {
      sessions: await prisma.session.count({ where: { userId: id } }),
      stream_tokens: await prisma.streamToken.count({ where: { userId: id } }),
      oauth_records: await prisma.oAuthRecord.count({ where: { model: 'AccessToken' } }),
      revoked_tokens: await prisma.revokedToken.count(),
      idempotency_keys: await prisma.idempotencyKey.count({ where: { userId: id } }),
      events: await prisma.event.count(),
      // With the one that the account was made with.
      api_keys: await prisma.apiKey.count({ where: { userId: id } }),
    };
    expect(left).toEqual({
      sessions: 1,
      stream_tokens: 1,
      oauth_records: 1,
      revoked_tokens: 2,
      idempotency_keys: 1,
      events: 1,
      api_keys: 3,
    });
    const text = await metrics.registry.metrics();
    for (const job of Object.keys(left)) {
      expect(text).toContain(`job_rows_removed_total{task="${job}"} ${job === 'api_keys' ? 2 : 1}\n`);
      expect(text).toMatch(new RegExp(`job_last_success_timestamp_seconds{task="${job}"} \\d{10}`));
      expect(text).toContain(`job_duration_seconds_count{task="${job}"} 1\n`);
    }
  });

  it('ends between two statements when the service stops', async () => {
    const { id } = await app.account();
    await app.prisma.session.createMany({
      data: Array.from({ length: 1_100 }, () => ({
        userId: id,
        hash: hash(),
        lastSeenAt: inDays(-8),
        expiresAt: inDays(-1),
        absoluteExpiresAt: inDays(-1),
      })),
    });
    expect(await expiredSessions.run(app.database, AbortSignal.abort())).toBe(500);
    expect(await expiredSessions.run(app.database)).toBe(600);
  });

  it('goes on past a job that fails, and logs it ever more rarely until it works again', async () => {
    let fails = true;
    const done: string[] = [];
    const jobs: Job[] = [
      {
        name: 'broken',
        async run() {
          if (fails) throw new Error('on purpose');
          return 0;
        },
      },
      {
        name: 'sound',
        async run() {
          done.push('sound');
          return 0;
        },
      },
    ];
    const { runAll, metrics, logged } = cleanUp(app, jobs);
    for (let count = 0; count < 9; count += 1) await runAll();
    expect(done).toHaveLength(9);
    expect(linesOf(logged, 'a background job failed').map(({ failures }) => failures)).toEqual([1, 2, 4, 8]);
    const text = await metrics.registry.metrics();
    expect(text).toContain('job_failures_total{task="broken"} 9\n');
    fails = false;
    await runAll();
    await runAll();
    expect(linesOf(logged, 'a background job works again')).toHaveLength(1);
  });

  it('that cannot get its turn counts as a failure of every job, and is logged ever more rarely', async () => {
    let refused = true;
    const database = {
      ...app.database,
      kind: 'postgres' as const,
      async dedicatedClient(options?: { readonly limited?: boolean }) {
        if (refused)
          throw Object.assign(new Error('remaining connection slots are reserved'), { code: '53300' });
        return app.database.dedicatedClient(options);
      },
    };
    const jobs: Job[] = [{ name: 'some', run: async () => 0 }];
    const { runAll, metrics, logged } = cleanUp({ config: app.config, database }, jobs);
    for (let count = 0; count < 5; count += 1) await runAll();
    const told = linesOf(logged, 'the clean-up could not start');
    expect(told.map(({ level, failures }) => [level, failures])).toEqual([1, 2, 4].map((n) => [WARN, n]));
    expect(await metrics.registry.metrics()).toContain('job_failures_total{task="some"} 5\n');
    refused = false;
    await runAll();
    expect(linesOf(logged, 'the clean-up can start again')).toHaveLength(1);
  });

  it('is part of the metrics from the start', async () => {
    const text = await (await app.fetch('/metrics')).text();
    expect(text).toContain('job_failures_total{task="sessions"} 0\n');
  });
});
