import { OperatorError } from '../../operator-error.ts';

/** Other users of the machine could read or change the folder's content, or listen on a socket in it. */
export class UnsafeFolderError extends OperatorError {}

/** The folder cannot be created, or its file system refuses what is needed. */
export class UnusableFolderError extends OperatorError {}

/** A running cluster needs room for a segment of its log. PGlite does not say that a disk is full. */
export const MIN_FREE_BYTES = 16 * 1_048_576;

export const toMebibytes = (bytes: number): number => Math.floor(bytes / 1_048_576);

/** What to do about an error of the operating system. */
const ADVICE: Readonly<Record<string, string>> = {
  EACCES: 'give the user of the service the right to write there',
  EPERM: 'give the user of the service the right to write there',
  EEXIST: 'it must be a folder, so remove the file or name another path',
  ENOTDIR: 'a part of the path is a file, so name another path',
  ENOENT: 'it cannot be created there, so create it or name another path',
  ENAMETOOLONG: 'its path is too long, so name another path',
  ELOOP: 'its path is a circle of links, so name another path',
  EROFS: 'its file system is read-only, so mount it for writing or name a folder elsewhere',
  ENOSPC: 'its disk is full, so free some space or name a folder elsewhere',
  EDQUOT: 'the disk quota of the user is used up, so free some space or name a folder elsewhere',
  EIO: 'its disk fails, so check it or name a folder elsewhere',
};

/** What the operator should do about the error of a file in DATA_DIR. */
export function adviceOf(error: unknown): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  return (
    ADVICE[code] ?? 'check that it is a folder on a working disk where the user of the service may write'
  );
}

/** The error of a file in DATA_DIR, in words for the operator. */
export function folderError(path: string, error: unknown): UnusableFolderError {
  const { message } = error as NodeJS.ErrnoException;
  return new UnusableFolderError(`DATA_DIR "${path}" cannot be used: ${adviceOf(error)} (${message}).`, {
    cause: error,
  });
}
