import { it } from 'vitest';
import type { CheckName, GroupName, Row } from './results.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The row of the page that the test belongs to. */
    compatibility?: Row;
  }
}

/** Defines the tests of a row. @returns a function that defines the test of a check, if the row has a verdict for the check */
export function createRow<Name extends GroupName>(row: Row<Name>) {
  const meta = { compatibility: row as Row };
  return {
    /** The test of a check. */
    check(name: CheckName<Name>, promise: string, test: () => Promise<void>): void {
      if (row.checks[name] !== undefined) it(`${row.name} ${promise}`, { meta }, test);
    },
    /** Another test of the row. */
    it(promise: string, test: () => Promise<void>): void {
      it(`${row.name} ${promise}`, { meta }, test);
    },
  };
}
