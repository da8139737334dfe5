import { hostname, userInfo } from 'node:os';
import { sudoUser } from '../platform/config.ts';

/** Who runs a command of the command line, as far as the operating system knows. */
export interface Operator {
  /** The user of the operating system: the one who called sudo, where that is known. */
  readonly user: string;
  readonly host: string;
  /** The operator's own words. */
  readonly reason?: string;
}

const MAX_USER_LENGTH = 100;

let reason: string | undefined;

/** Sets the reason of the command that this process runs. */
export function setReason(text: string | undefined): void {
  reason = text;
}

function processUser(): string {
  try {
    return userInfo().username;
  } catch (error) {
    // The user id of a container may have no name.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SYSTEM_ERROR') throw error;
    return `uid ${process.getuid?.()}`;
  }
}

/** The operator behind the command that this process runs. */
export const currentOperator = (): Operator => ({
  user: (sudoUser() ?? processUser()).slice(0, MAX_USER_LENGTH),
  host: hostname(),
  ...(reason === undefined ? {} : { reason }),
});
