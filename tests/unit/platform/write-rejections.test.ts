import pg from 'pg';
import { describe, expect, it } from 'vitest';
import {
  findWriteRejection,
  isOutage,
  toCommitError,
  toDatabaseError,
} from '../../../src/database/errors.ts';

/** An error as pg makes it of what the server says. */
const said = (fields: Partial<pg.DatabaseError>) =>
  Object.assign(new pg.DatabaseError('could not', 0, 'error'), fields);

describe('An error of the database', () => {
  it.each([
    ['53100', 'md.c', 'its disk is full'],
    ['58030', 'md.c', 'its disk fails'],
    ['25006', 'utility.c', 'it is read-only'],
    ['42501', 'md.c', 'its files cannot be written'],
    ['XX000', 'fd.c', 'its files cannot be written'],
  ])('%s of %s rejects to write: for a moment, and as the watch tells', (code, file, reason) => {
    const error = toDatabaseError(said({ code, file }));
    expect(findWriteRejection(error)?.reason).toBe(reason);
    expect(error.kind).toBe('unavailable');
    expect(isOutage(error)).toBe(true);
  });

  it.each([
    ['42501', 'aclchk.c', 'other'],
    ['XX000', 'xact.c', 'other'],
    ['53200', 'mcxt.c', 'unavailable'],
    ['23505', 'nbtinsert.c', 'other'],
  ])('%s of %s does not', (code, file, kind) => {
    const error = toDatabaseError(said({ code, file }));
    expect(findWriteRejection(error)).toBeUndefined();
    expect(error.kind).toBe(kind);
    expect(isOutage(error)).toBe(false);
  });

  it('that ends the server during a commit leaves open whether it took effect', () => {
    expect(toCommitError(said({ code: '53100', severity: 'ERROR' })).kind).toBe('unavailable');
    expect(toCommitError(said({ code: '53100', severity: 'PANIC' })).kind).toBe('unknown');
  });
});
