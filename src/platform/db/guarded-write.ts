import { type Statement, statement } from './statement.ts';

/** SQL that goes before a write, in the same statement, and decides whether the write happens. */
export interface Guard {
  /**
   * Parts of the WITH clause. The last is named `guard` and has one row if the write may happen, else none.
   * Its parameters start with number `first`.
   */
  sql(first: number): string;
}

/** A statement that writes, by itself or behind a guard. Each returns its row if it wrote. */
export interface GuardedWrite<Row> {
  readonly alone: Statement<Row>;
  /** The parameters of the guard follow those of the write. */
  behind(guard: Guard): Statement<Row>;
}

/**
 * A write with `parameters` parameters. `sql` builds its text: the WITH clause opens with `opening`, and the
 * first part takes its values with `SELECT … ${source}`.
 */
export function guardedWrite<Row>(
  label: string,
  parameters: number,
  sql: (opening: string, source: string) => string,
): GuardedWrite<Row> {
  const behind = new WeakMap<Guard, Statement<Row>>();
  return {
    alone: statement(label, sql('WITH', '')),
    behind(guard) {
      let found = behind.get(guard);
      if (found === undefined) {
        const opening = `WITH ${guard.sql(parameters + 1)},`;
        found = statement(`${label}_guarded`, sql(opening, 'FROM guard'));
        behind.set(guard, found);
      }
      return found;
    },
  };
}
