import { banner } from './demo/banner.ts';
import { browserOrigin } from './demo/browser-origin.ts';
import { loadProcessConfig } from './platform/config.ts';
import { createLogger } from './platform/log.ts';
import { OperatorError } from './platform/operator-error.ts';
import { withoutUserInformation } from './platform/redact.ts';
import { startService } from './serve.ts';

async function main(): Promise<void> {
  // Before any thread starts: files written here are private to the service's user.
  process.umask(0o077);
  const config = loadProcessConfig();
  const development = config.environment === 'development';
  const log = createLogger({ level: config.logLevel, pretty: development });
  const service = await startService(config, log);
  const stop = (signal: NodeJS.Signals) => {
    log.info({ signal }, 'stopping');
    void service.stop().then(() => {
      log.info('stopped');
      process.exit(0);
    });
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  if (!(await service.ready)) return;
  log.info({ origin: service.origin, database: config.database.kind }, 'listening');
  if (development)
    process.stdout.write(banner(await browserOrigin(service.origin), config.graphiql, service.demo));
}

try {
  await main();
} catch (error) {
  const said = error instanceof OperatorError ? error.message : String((error as Error).stack);
  process.stderr.write(`${withoutUserInformation(said)}\n`);
  process.exit(1);
}
