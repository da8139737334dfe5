import { expect, it, onTestFinished } from 'vitest';
import { createTestDatabase } from '../support/database/database.ts';
import { connect } from '../support/database/postgres.ts';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { productionSettings, startServer } from '../support/processes/server.ts';
import { startPrometheus } from './prometheus.ts';

/** Those that wait for their minute, too. */
const ALERTS = 'ALERTS{alertname=~"ContentGraphDatabase.*"}';

it('the alert of a database that cannot write begins without a request, and ends by itself', async () => {
  const own = await createTestDatabase();
  onTestFinished(own.drop);
  const url = own.settings.DATABASE_URL ?? '';
  const server = await startServer(await temporaryFolder(), { ...productionSettings(), ...own.settings });
  const prometheus = await startPrometheus([server.origin]);
  await until(
    'a scrape',
    async () => (await prometheus.query('content_graph_database_writable == 1')).length === 1,
  );
  expect(await prometheus.query(ALERTS)).toEqual([]);
  const control = await connect(url);
  const name = new URL(url).pathname.slice(1);
  await control.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await control.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await until('the alert', async () => {
    const alerts = await prometheus.query(ALERTS);
    return alerts.map(({ metric }) => metric.alertname).join() === 'ContentGraphDatabaseNotWritable';
  });
  await control.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  await until('its end', async () => (await prometheus.query(ALERTS)).length === 0);
  await until(
    'both gauges',
    async () =>
      (await prometheus.query('content_graph_database_up + content_graph_database_writable == 2')).length,
  );
});
