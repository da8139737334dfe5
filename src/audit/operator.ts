import { AsyncLocalStorage } from 'node:async_hooks';
import { hostname, userInfo } from 'node:os';
import { sudoUser } from '../platform/config.ts';

/** The person who runs a command of the command line, as far as the operating system knows. */
export interface Operator {
  /** The user of the operating system: the one who called sudo, where that is known. */
  readonly user: string;
  readonly host: string;
  /** The operator's own words. */
  readonly reason?: string | undefined;
}

const MAX_USER_LENGTH = 100;

function processUser(): string {
  try {
    return userInfo().username;
  } catch (error) {
    // The user id of a container may have no name.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
    return `uid ${process.getuid?.()}`;
  }
}

/** The operator who has started this process. */
export const processOperator = (): Operator => ({
  user: (sudoUser() ?? processUser()).slice(0, MAX_USER_LENGTH),
  host: hostname(),
});

const current = new AsyncLocalStorage<Operator>();

/** Runs a command whose changes are those of the operator. A server runs those of several operators at a time. */
export const runAs = <T>(operator: Operator, command: () => T): T => current.run(operator, command);

/** The operator behind the command that runs. */
export const currentOperator = (): Operator => current.getStore() ?? processOperator();
