/** Why a server that answers writes nothing, in words for the operator. */
export interface WriteRefusal {
  /** What is wrong, after "the database cannot write:". */
  readonly reason: string;
  /** What to do. */
  readonly check: string;
}

export const READ_ONLY = '25006';

const REFUSALS: Readonly<Record<string, WriteRefusal>> = {
  '53100': { reason: 'its disk is full', check: 'make room on the disk of its data' },
  '58030': { reason: 'its disk fails', check: 'look at that disk and at the log of the database' },
  [READ_ONLY]: {
    reason: 'it is read-only',
    check: 'name the primary and not a standby, and turn default_transaction_read_only off',
  },
};

/**
 * A file that the system lets nobody write has the code of a missing right, but comes from where PostgreSQL uses files. A
 * temporary file that cannot be made has the code of an internal error.
 */
const REFUSED_FILES: readonly (readonly [code: string, files: RegExp])[] = [
  ['42501', /^(fd|md|smgr|slru|xlog|buffile|copydir|relmapper)\.c$/],
  ['XX000', /^fd\.c$/],
];
const REFUSED_FILE: WriteRefusal = {
  reason: 'its files cannot be written',
  check: 'its disk may have become read-only: look at that disk, and at the rights of the files',
};

/** Tables whose ids come from a sequence. Logical replication copies their rows and not the state of the sequences. */
export const NUMBERED_TABLES = ['events', 'audit_log'] as const;
const UNIQUE_VIOLATION = '23505';
const BEHIND: WriteRefusal = {
  reason: 'a sequence is behind its table',
  check: 'run "npm run -s admin -- doctor", which names the sequence and the statement that advances it',
};

/** The parts of an error of PostgreSQL that say something about writing. */
export interface WriteErrorParts {
  /** SQLSTATE. */
  readonly code: string;
  /** Source file of PostgreSQL. */
  readonly file: string | undefined;
  readonly constraint: string | undefined;
}

/** What an error says about writing. Undefined if it says nothing. */
export function writeRefusal({ code, file, constraint }: WriteErrorParts): WriteRefusal | undefined {
  if (code === UNIQUE_VIOLATION && NUMBERED_TABLES.some((table) => constraint === `${table}_pkey`))
    return BEHIND;
  const refused = REFUSED_FILES.some(([of, files]) => of === code && files.test(file ?? ''));
  return refused ? REFUSED_FILE : REFUSALS[code];
}
