/**
 * Mercurius with its JIT and its loaders on `pg` with named statements, which select only the columns that the
 * workloads ask for. No authentication, no limits, no log; `--duties` adds what the service does for each request.
 */
import Fastify from 'fastify';
import mercurius from 'mercurius';
import { serve } from './child.ts';
import { addBrowsers } from './mercurius/browsers.ts';
import { pool } from './mercurius/database.ts';
import { addDuties, MERCURIUS_LIMITS, SERVER_LIMITS } from './mercurius/duties.ts';
import { loaders } from './mercurius/loaders.ts';
import { resolvers } from './mercurius/resolvers.ts';
import { SCHEMA } from './mercurius/schema.ts';

const duties = process.argv.includes('--duties');
const app = Fastify({ logger: false, ...(duties ? SERVER_LIMITS : {}) });
if (duties) {
  await addBrowsers(app);
  addDuties(app);
}
await app.register(mercurius, {
  schema: SCHEMA,
  jit: 1,
  graphiql: false,
  resolvers,
  loaders,
  ...(duties ? MERCURIUS_LIMITS : {}),
});
await app.ready();
// Fastify has made its server but not called listen on it: the bench's own does, as for all the others.
await serve({
  server: app.server,
  async close() {
    await app.close();
    await pool.end();
  },
});
