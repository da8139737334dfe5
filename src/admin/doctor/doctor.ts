import { requireDatabase } from '../../database/embedded/major-version.ts';
import { DatabaseUnreachableError, messageOf } from '../../database/preflight.ts';
import { ConfigError } from '../../platform/config/config.ts';
import type { CommandServices, DefineCommands } from '../cli/connection.ts';
import { UndoneError } from '../cli/output.ts';
import {
  checkDatabase,
  checkProxy,
  checkRedis,
  checkSettings,
  createCheck,
  type DoctorCheck,
} from './checks.ts';

/** Never creates, migrates or moves a database. Never rejects. */
async function openAndCheck({ config, open }: CommandServices): Promise<DoctorCheck[]> {
  try {
    if (config.database.kind === 'embedded') requireDatabase(config.database.dataDir);
    const { database } = await open();
    try {
      await database.watch.requireUsable({ direct: true });
      return await checkDatabase(config, database);
    } finally {
      await database.close();
    }
  } catch (error) {
    return error instanceof DatabaseUnreachableError
      ? [createCheck('database', error.reason, error.hint)]
      : [createCheck('database', messageOf(error), 'solve the problem, and run "doctor" again')];
  }
}

function rejectErrors(checks: readonly DoctorCheck[]): readonly DoctorCheck[] {
  const errors = new Set(checks.filter(({ status }) => status === 'error').map(({ check }) => check));
  if (errors.size > 0) throw new UndoneError(`Failed checks: ${[...errors].join(', ')}.`, checks);
  return checks;
}

async function examine(given: CommandServices): Promise<readonly DoctorCheck[]> {
  const { config } = given;
  return rejectErrors([
    checkSettings(config),
    ...(await openAndCheck(given)),
    ...(await checkRedis(config)),
    ...(await checkProxy(config)),
  ]);
}

export const defineDoctorCommand: DefineCommands = ({ add, runWithout }) => {
  add(
    'doctor',
    'Check settings, database, Redis and proxy without changing anything, and print what to do',
  ).action(async () => {
    try {
      await runWithout(examine, { relayed: true });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const action = 'correct the setting, and run "doctor" again: the other checks need valid settings';
      rejectErrors(error.problems.map((problem) => createCheck('settings', problem, action)));
    }
  });
};
