import { describe, expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { useApp } from '../../support/app.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

const clock = steppedClock();
const app = useApp({ clock });

async function probe(path: string, init?: RequestInit) {
  const { status, headers } = await app.fetch(path, init);
  return [status, headers.get('cache-control')];
}

const renameTable = (from: string, to: string) =>
  app.database.query(statement(`rename_${from}`, `ALTER TABLE "${from}" RENAME TO "${to}"`), []);

describe('no cache stores the state of an instance', () => {
  // Before any other probe, because an instance that was ready once expects no pending migration.
  it('/health/ready while a migration is pending, and once it is applied', async () => {
    await renameTable('_prisma_migrations', 'elsewhere');
    expect(await probe('/health/ready')).toEqual([503, 'no-store']);
    await renameTable('elsewhere', '_prisma_migrations');
    clock.advance(1_000);
    expect(await probe('/health/ready')).toEqual([200, 'no-store']);
  });

  it.each(['/health/live', '/health/ready', '/metrics'])('%s', async (path) => {
    for (const method of ['GET', 'HEAD'])
      expect([method, ...(await probe(path, { method }))]).toEqual([method, 200, 'no-store']);
  });

  it('/metrics in the format of OpenMetrics', async () => {
    const headers = { accept: 'application/openmetrics-text; version=1.0.0' };
    const response = await app.fetch('/metrics', { headers });
    expect(response.headers.get('content-type')).toContain('application/openmetrics-text');
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('/health/ready and /health/live during a shutdown', async () => {
    app.app.announceShutdown();
    expect(await probe('/health/ready')).toEqual([503, 'no-store']);
    expect(await probe('/health/live')).toEqual([200, 'no-store']);
  });
});
