import { existsSync } from 'node:fs';
import { buildText } from '../../platform/build.ts';
import { type Config, ConfigError, misspelledInProcess } from '../../platform/config.ts';
import { DatabaseUnreachableError, messageOf } from '../../platform/db/contact.ts';
import { freeBytes } from '../../platform/db/embedded/folder-watch.ts';
import { refuseNoDatabase } from '../../platform/db/embedded/major-version.ts';
import type { AdminCommand } from '../command.ts';
import type { Given } from '../connection.ts';
import { UndoneError } from '../output.ts';
import { type Check, failed, ok, warning } from './check.ts';
import { databaseChecks } from './database.ts';
import { proxyChecks, redisCheck } from './outside.ts';

const MEBIBYTE = 1_048_576;
const LITTLE_MIB = 1_024;
const TOO_LITTLE_MIB = 64;

function settings({ environment, host, trustProxy, metricsToken }: Config): Check {
  const misspelled = misspelledInProcess();
  const seen = `valid, for ${environment}`;
  if (misspelled.length > 0)
    return warning(
      'settings',
      `${seen}; without effect: ${misspelled.map(({ name, meant }) => `${name} (like ${meant})`).join(', ')}`,
      'correct the names, or remove the variables',
    );
  if (environment !== 'production') return ok('settings', seen);
  const missing = [
    ...(trustProxy.length === 0 && host !== '127.0.0.1' ? ['TRUST_PROXY (the address of the proxy)'] : []),
    ...(metricsToken === undefined
      ? ['METRICS_TOKEN (without it, only this machine reads the metrics)']
      : []),
  ];
  return missing.length === 0
    ? ok('settings', seen)
    : warning('settings', `${seen}; not set: ${missing.join(', ')}`, 'set them, if they are needed');
}

const versions = (): Check =>
  ok('versions', `content-graph-api ${buildText()}, Node ${process.versions.node}`);

function disk({ database }: Config): Check {
  if (database.kind === 'postgres')
    return ok('disk', 'that of PostgreSQL cannot be seen from here: watch it there');
  if (!existsSync(database.dataDir)) return ok('disk', `"${database.dataDir}" does not exist yet`);
  const free = freeBytes(database.dataDir);
  if (free === undefined)
    return ok('disk', `"${database.dataDir}" is on a file system that does not tell its size`);
  const mebibytes = Math.floor(free / MEBIBYTE);
  const seen = `${mebibytes} MiB are free for "${database.dataDir}"`;
  const todo = 'free some space, or move DATA_DIR to a larger disk: without any, nothing can be written';
  if (mebibytes < TOO_LITTLE_MIB) return failed('disk', seen, todo);
  return mebibytes < LITTLE_MIB ? warning('disk', seen, todo) : ok('disk', seen);
}

/** Never creates, migrates or moves a database. Never rejects. */
async function database({ config, open }: Given): Promise<Check[]> {
  try {
    if (config.database.kind === 'embedded') refuseNoDatabase(config.database.dataDir);
    const opened = await open();
    try {
      await opened.database.watch.refuse({ direct: true });
      return await databaseChecks(config, opened.database);
    } finally {
      await opened.database.close();
    }
  } catch (error) {
    if (error instanceof DatabaseUnreachableError) return [failed('database', error.reason, error.check)];
    return [failed('database', messageOf(error), 'correct what that names, and run this again')];
  }
}

async function examine(given: Given): Promise<Check[]> {
  const { config } = given;
  const checks = [
    settings(config),
    versions(),
    disk(config),
    ...(await database(given)),
    await redisCheck(config),
    ...(await proxyChecks(config)),
  ];
  const errors = checks.filter(({ status }) => status === 'error').map(({ check }) => check);
  if (errors.length > 0) throw new UndoneError(`Needs attention: ${errors.join(', ')}.`, checks);
  return checks;
}

/** `doctor`. */
export const doctorCommand: AdminCommand = {
  name: 'doctor',
  description:
    'looks at settings, clock, disk, database, Redis and proxy, changes nothing, and says what to do',
  define(command, _run, runWithout) {
    command.action(async () => {
      try {
        await runWithout(examine, { relayed: true });
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        const todo = 'correct them: nothing else can be looked at before';
        throw new UndoneError(
          'Needs attention: settings.',
          error.problems.map((problem) => failed('settings', problem, todo)),
        );
      }
    });
  },
};
