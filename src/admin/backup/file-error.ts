import { adviceOf } from '../../platform/db/embedded/folder-error.ts';
import { AdminError } from '../output.ts';

const isOfSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error;

/** The error of a file that is written, in words for the operator; others as they are. */
export const writeError = (path: string, error: unknown): unknown =>
  isOfSystem(error)
    ? new AdminError(`"${path}" cannot be written: ${adviceOf(error)} (${error.message}).`, { cause: error })
    : error;

/** The error of a file that is read, in words for the operator; others as they are. */
export const readError = (path: string, error: unknown): unknown =>
  isOfSystem(error)
    ? new AdminError(`"${path}" cannot be read: check its rights and its disk (${error.message}).`, {
        cause: error,
      })
    : error;
