import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createJobs } from '../../../src/app/create-app.ts';
import { expiredSessions } from '../../../src/auth/credentials.ts';
import type { Job } from '../../../src/database/jobs.ts';
import { useApp } from '../../support/app.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { startTestJobRunner } from '../../support/job-runner.ts';
import { linesOf, WARN } from '../../support/log-lines.ts';
import { holdTimersInTest } from '../../support/time/timers.ts';

const DAY_MS = 86_400_000;
const hash = () => new Uint8Array(randomBytes(32));
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

describe('the job runner', () => {
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
    const { id: keyId } = await key({ revokedAt: inDays(-29), expiresAt: inDays(-29) });
    for (const days of [-31, -29])
      await prisma.apiKeyUse.create({
        data: { keyId, address: `${days}`, firstAt: inDays(-99), lastAt: inDays(days) },
      });
  }

  /** Rows of the kinds that only an operator sees, and links: old ones, and ones that stay. */
  async function rowsForOperators(userId: string) {
    const { prisma } = app;
    const block = (endsAt: Date | null, network: string) =>
      prisma.addressBlock.create({ data: { network, endsAt } });
    const clientUsage = (at: Date) =>
      prisma.clientUse.create({ data: { instance: randomUUID(), slot: 0, at, uses: [] } });
    const link = async (expiresAt: Date, ownerId: string) => {
      const times = { createdAt: inDays(-3), expiresAt };
      const data = { userId: ownerId, id: randomUUID(), kind: 'reset', hash: hash(), emailKey: '', ...times };
      await prisma.accountLink.create({ data });
    };
    const signingKey = (signsFrom: Date) => {
      const key = { id: randomUUID(), publicJwk: {}, privateKey: hash(), sealedBy: 'nothing' };
      return prisma.oAuthSigningKey.create({ data: { ...key, signsFrom } });
    };
    const text = (lastUsedAt: Date) =>
      prisma.textUse.create({ data: { client: 'c', digest: hash(), kind: 'jwt', count: 5, lastUsedAt } });
    const entry = (at: Date) =>
      prisma.auditEntry.create({ data: { via: 'command', action: 'a', detail: {}, at } });
    const deprecatedUse = (day: Date) => {
      const use = { element: 'Post.body', client: 'c', release: '', kind: 'jwt', count: 1 };
      return prisma.deprecatedUse.create({ data: { ...use, day } });
    };
    await block(inDays(-2), '203.0.113.1');
    await block(inDays(1), '203.0.113.2');
    await block(null, '203.0.113.3');
    await clientUsage(inDays(-1));
    await clientUsage(inDays(0));
    await link(inDays(-2), userId);
    await link(inDays(1), (await app.account()).id);
    for (const days of [-60, -40, 0]) await signingKey(inDays(days));
    for (const days of [-31, -29]) await text(inDays(days));
    for (const days of [-366, -364]) await entry(inDays(days));
    for (const days of [-402, -398]) await deprecatedUse(inDays(days));
  }

  it('removes what nobody needs any more, of every kind, and nothing else', async () => {
    const { id } = await app.account();
    await rowsOfEveryKind(id);
    await rowsForOperators(id);
    await eventsReadable(app);
    const { runAll, metrics } = startTestJobRunner(app);
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
      api_key_uses: await prisma.apiKeyUse.count(),
      address_blocks: await prisma.addressBlock.count(),
      client_uses: await prisma.clientUse.count(),
      account_links: await prisma.accountLink.count(),
      signing_keys: await prisma.oAuthSigningKey.count({ where: { sealedBy: 'nothing' } }),
      text_uses: await prisma.textUse.count(),
      audit_log: await prisma.auditEntry.count(),
      deprecated_uses: await prisma.deprecatedUse.count(),
    };
    expect(
      Object.keys(left).sort(),
      'give each job a row to delete, a row to keep, and a count in `left`, all in this test',
    ).toEqual(
      createJobs(app.config)
        .map(({ name }) => name)
        // It fills slugs and deletes nothing.
        .filter((name) => name !== 'missing_slugs')
        .sort(),
    );
    expect(left).toEqual({
      sessions: 1,
      stream_tokens: 1,
      oauth_records: 1,
      revoked_tokens: 2,
      idempotency_keys: 1,
      events: 1,
      api_keys: 3,
      api_key_uses: 1,
      // The block that ends later, and the block without an end.
      address_blocks: 2,
      client_uses: 1,
      account_links: 1,
      signing_keys: 2,
      text_uses: 1,
      audit_log: 1,
      deprecated_uses: 1,
    });
    const text = await metrics.registry.metrics();
    for (const job of Object.keys(left)) {
      expect(text).toContain(
        `content_graph_job_rows_deleted_total{job_name="${job}"} ${job === 'api_keys' ? 2 : 1}\n`,
      );
      expect(text).toMatch(
        new RegExp(`content_graph_job_last_success_timestamp_seconds{job_name="${job}"} \\d{10}`),
      );
      expect(text).toContain(`content_graph_job_duration_seconds_count{job_name="${job}"} 1\n`);
    }
  });

  it('runs once a minute, give or take a tenth of a minute, and not at the start', async () => {
    // Longer than the timers of database connections, which come and go by themselves.
    const timers = holdTimersInTest(50_000);
    const due = () => timers.delays().filter((delayMs) => delayMs >= 54_000 && delayMs <= 66_000);
    let runs = 0;
    const counting = async () => {
      runs += 1;
      return 0;
    };
    startTestJobRunner(app, [{ name: 'counting', run: counting }], false);
    for (let round = 1; round <= 5; round += 1) {
      await expect.poll(due).toHaveLength(1);
      const [pauseMs = 0] = due();
      expect(runs).toBe(round - 1);
      timers.fire(pauseMs);
      await expect.poll(() => runs).toBe(round);
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
    const { runAll, metrics, logged } = startTestJobRunner(app, jobs);
    for (let count = 0; count < 9; count += 1) await runAll();
    expect(done).toHaveLength(9);
    expect(linesOf(logged, 'job.failed').map(({ failureCount }) => failureCount)).toEqual([1, 2, 4, 8]);
    const text = await metrics.registry.metrics();
    expect(text).toContain('content_graph_job_failures_total{job_name="broken"} 9\n');
    fails = false;
    await runAll();
    await runAll();
    expect(linesOf(logged, 'job.recovered')).toHaveLength(1);
  });

  it('that cannot get its turn counts as a failure of every job, and is logged ever more rarely', async () => {
    let rejected = true;
    const database = {
      ...app.database,
      kind: 'postgres' as const,
      async dedicatedClient(options?: { readonly limited?: boolean }) {
        if (rejected)
          throw Object.assign(new Error('remaining connection slots are reserved'), { code: '53300' });
        return app.database.dedicatedClient(options);
      },
    };
    const jobs: Job[] = [{ name: 'some', run: async () => 0 }];
    const { runAll, metrics, logged } = startTestJobRunner({ config: app.config, database }, jobs);
    for (let count = 0; count < 5; count += 1) await runAll();
    const told = linesOf(logged, 'job.runner_failed');
    expect(told.map(({ level, failureCount }) => [level, failureCount])).toEqual(
      [1, 2, 4].map((n) => [WARN, n]),
    );
    expect(await metrics.registry.metrics()).toContain(
      'content_graph_job_failures_total{job_name="some"} 5\n',
    );
    rejected = false;
    await runAll();
    expect(linesOf(logged, 'job.runner_recovered')).toHaveLength(1);
  });

  it('is part of the metrics from the start', async () => {
    const text = await (await app.fetch('/metrics')).text();
    expect(text).toContain('content_graph_job_failures_total{job_name="sessions"} 0\n');
  });
});
