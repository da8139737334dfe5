import { banner } from './demo/banner.ts';
import { browserOrigin } from './demo/browser-origin.ts';
import { SeededError } from './demo/seed.ts';
import { ConfigError, loadProcessConfig } from './platform/config.ts';
import { UnsafeFolderError } from './platform/db/embedded/folder.ts';
import { FolderInUseError } from './platform/db/embedded/lock.ts';
import { EmbeddedStartError } from './platform/db/embedded/server.ts';
import { MigrationError } from './platform/db/migrate.ts';
import { createLogger } from './platform/log.ts';
import { withoutUserInformation } from './platform/redact.ts';
import { startService } from './serve.ts';

/** Mistakes of the operator: printed without a stack. */
function isPlain(error: unknown): error is Error {
  return (
    error instanceof ConfigError ||
    error instanceof FolderInUseError ||
    error instanceof EmbeddedStartError ||
    error instanceof UnsafeFolderError ||
    error instanceof SeededError ||
    error instanceof MigrationError ||
    (error as { code?: unknown })?.code === 'EADDRINUSE'
  );
}

async function main(): Promise<void> {
  // Before any thread starts: files written here are private to the service's user.
  process.umask(0o077);
  const config = loadProcessConfig();
  const development = config.environment === 'development';
  const log = createLogger({ level: config.logLevel, pretty: development });
  const service = await startService(config, log);
  log.info({ origin: service.origin, database: config.database.kind }, 'listening');
  if (development)
    process.stdout.write(banner(await browserOrigin(service.origin), config.graphiql, service.demo));
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping');
    void service.stop().then(() => {
      log.info('stopped');
      process.exit(0);
    });
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
}

try {
  await main();
} catch (error) {
  const said = isPlain(error) ? error.message : String((error as Error).stack);
  process.stderr.write(`${withoutUserInformation(said)}\n`);
  process.exit(1);
}
