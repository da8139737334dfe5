/**
 * PostGraphile on the same database, with its Amber preset, connections and lists: what the workloads ask for. No
 * authentication, no limits, no log, no GraphiQL.
 */
import { createServer } from 'node:http';
import { postgraphile } from 'postgraphile';
import { TYPES } from 'postgraphile/@dataplan/pg';
import { makePgService } from 'postgraphile/adaptors/pg';
import { grafserv } from 'postgraphile/grafserv/node';
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber';
import { given, POOL_SIZE, serve } from './child.ts';

/** The event log has a column of a type that PostGraphile does not know; as text it is as good as any. */
const transactionIds: GraphileConfig.Plugin = {
  name: 'TransactionIdsPlugin',
  version: '1.0.0',
  gather: {
    hooks: {
      async pgCodecs_findPgCodec(_info, event) {
        if (event.pgType.typname === 'xid8') event.pgCodec ??= TYPES.text;
      },
    },
  },
};

const service = postgraphile({
  plugins: [transactionIds],
  extends: [PostGraphileAmberPreset],
  pgServices: [
    makePgService({
      connectionString: given('DATABASE_URL'),
      schemas: ['public'],
      poolConfig: { max: POOL_SIZE },
    }),
  ],
  schema: { defaultBehavior: 'connection list' },
  grafserv: { graphiql: false, websockets: false, watch: false },
  grafast: { explain: false },
});
const server = createServer();
await service.createServ(grafserv).addTo(server);
await service.getSchema();
await serve({ server, close: async () => service.release() });
