import { constants } from 'node:os';
import { loadProcessConfig, misspelledInProcess } from './platform/config/config.ts';
import { OperatorError, withoutUserInformation } from './platform/errors.ts';
import { createLogger } from './platform/log/log.ts';
import { logOutput } from './platform/log/log-output.ts';
import { build, readArguments } from './platform/process.ts';

const LAST_LINES_MS = 1_000;

const USAGE = `npm start

Start the service, until SIGTERM or Ctrl-C. There are no options: settings come from the environment and from .env, and
.env.example lists all settings with their defaults. These are the first ones to know:

  PORT, HOST      where the service listens: 4000, 127.0.0.1
  DATA_DIR        the data directory of the embedded database: .data in development
  DATABASE_URL    the URL of a PostgreSQL database to use instead

"npm run dev" also restarts the service on every change. "npm run -s admin -- --help" lists the commands for accounts, keys
and backups.
`;

const IGNORED = ['SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGIO', 'SIGPWR', 'SIGVTALRM'] as const;

async function main(): Promise<void> {
  readArguments(USAGE, {});
  // The umask is set before any thread starts, so that files are private to the user of the service.
  process.umask(0o077);
  const config = loadProcessConfig();
  const development = config.environment === 'development';
  const log = createLogger({ level: config.logLevel, pretty: development, first: { ...build() } });
  // By default, Node prints warnings of libraries as plain lines on standard error, between the JSON lines.
  process.removeAllListeners('warning').on('warning', (warning) => {
    // The service uses experimental functions on purpose: its tests run on the Node that it is delivered with.
    if (warning.name !== 'ExperimentalWarning') log.emit('service.node_warning', { err: warning });
  });
  for (const { name: variable, meant } of misspelledInProcess())
    log.emit('service.unknown_setting', { variable, meant });
  // The first process of a container ignores signals without a handler.
  let stop = (signal: NodeJS.Signals): void => process.exit(128 + constants.signals[signal]);
  // The handlers stay, because a second signal must not interrupt a graceful shutdown.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(signal));
  // Without a handler, these signals would end the process, and SIGUSR1 would open the port of a debugger.
  for (const signal of IGNORED) process.on(signal, () => log.emit('service.signal_ignored', { signal }));
  const { database, dataDir } = config;
  // Loading the service and creating a database take seconds, during which the terminal would be empty.
  if (development) log.emit('service.starting', database.kind === 'embedded' ? { dataDir } : {});
  const { startService } = await import('./app/server.ts');
  const service = await startService(config, log);
  let stopping = false;
  stop = (signal) => {
    log.emit(stopping ? 'service.already_stopping' : 'service.stopping', { signal });
    if (stopping) return;
    stopping = true;
    void service.stop().then(async () => {
      log.emit('service.stopped');
      await logOutput.flush(LAST_LINES_MS);
      process.exit(0);
    });
  };
  if (!(await service.ready)) return;
  log.emit('service.started', { url: service.origin, database: config.database.kind });
  if (!development) return;
  const { banner } = await import('./features/development/banner.ts');
  logOutput.write(await banner(service.origin, config.graphiql, service.demo, service.pageToken), true);
}

try {
  await main();
} catch (error) {
  const said = error instanceof OperatorError ? error.message : String((error as Error).stack);
  process.stderr.write(`${withoutUserInformation(said)}\n`);
  process.exit(1);
}
