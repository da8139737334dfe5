import { createServer } from 'node:http';
import { createYoga } from 'graphql-yoga';
import { type App, createApp } from '../src/app/create-app.ts';
import { openDatabase } from '../src/database/database.ts';
import { migrate } from '../src/database/migrate.ts';
import { useLimits } from '../src/engine/admission.ts';
import { useIdempotency } from '../src/engine/mutations/idempotency/idempotent-executor.ts';
import { useEventIds } from '../src/engine/subscriptions/subscriber.ts';
import { useAuthentication } from '../src/http/hooks/authentication.ts';
import { useRateLimit } from '../src/http/hooks/rate-limit.ts';
import { useEngine } from '../src/http/yoga/use-engine.ts';
import { loadProcessConfig } from '../src/platform/config/config.ts';
import { createLogger } from '../src/platform/log/log.ts';

/** The GraphQL endpoint in a Yoga server of your own. Add plugins of Yoga between the first and the last. */
export const createYogaOf = ({ host }: Pick<App, 'host'>) =>
  createYoga({
    schema: host.schema,
    plugins: [
      useEngine(host.engine),
      useAuthentication(host.authentication),
      useRateLimit(host.rateLimit),
      useLimits(host.limits),
      useIdempotency(host.idempotency),
      useEventIds(host.eventIds),
    ],
    // The engine masks errors. Yoga's default would let pages of any origin read responses with cookies.
    maskedErrors: false,
    cors: false,
  });

if (import.meta.main) {
  const config = loadProcessConfig();
  const log = createLogger({ level: config.logLevel, pretty: true });
  const database = await openDatabase({ config, log });
  await migrate(database);
  const yoga = createYogaOf(createApp({ config, database, log }));
  createServer(yoga).listen(config.port, config.host, () => log.emit('service.started'));
}
