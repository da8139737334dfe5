import { describe, expect, it } from 'vitest';
import { seededRandom } from '../support/random.ts';
import { createOwnDatabase, readRows } from './support/database.ts';
import { createInstance } from './support/instance.ts';
import { type ChaosReport, runChaos } from './support/run.ts';

const INSTANCES = 3;

async function runOnPostgres(size: {
  posts: number;
  clients: number;
  postsAKill: number;
}): Promise<ChaosReport> {
  const database = await createOwnDatabase(['Writer']);
  const { server, name, settings, keys } = database;
  const [key = ''] = keys;
  const instances = await Promise.all(Array.from({ length: INSTANCES }, () => createInstance(settings)));
  const label = 'PostgreSQL';
  const cuts = seededRandom(`${label}: cuts`);
  const report = await runChaos({
    instances,
    key,
    label,
    writers: 12,
    ...size,
    async cutConnections() {
      const { rows } = await server.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = $1 AND application_name = 'content-graph-api'
         ORDER BY backend_start`,
        [name],
      );
      const chosen = rows.filter(() => cuts.below(10) < 4).map(({ pid }) => pid);
      await server.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) pid', [chosen]);
      return chosen.length;
    },
    async readStored() {
      const rows = await readRows<{ title: string }>(database, 'SELECT title FROM posts');
      return rows.map(({ title }) => title);
    },
  });
  process.stdout.write(`PostgreSQL: ${JSON.stringify(report.figures)}\n`);
  return report;
}

describe('three instances on PostgreSQL', () => {
  it('give each client exactly the posts committed since it connected, in one order, whatever is killed', async () => {
    const { problems } = await runOnPostgres({ posts: 2_000, clients: 50, postsAKill: 200 });
    expect(problems).toEqual([]);
  });
});
