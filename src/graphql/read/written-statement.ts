import type { Parameter, Queryable, Statement } from '../../platform/db/statement.ts';

/** Adds a parameter where the text names it, with the source of its value. Returns its number, such as `$1`. */
export type AddParameter<Given> = (source: (given: Given) => Parameter) => string;

/** A statement with the sources of its parameters. `Given` is what their values come from. */
export interface WrittenStatement<Row, Given> {
  readonly statement: Statement<Row>;
  readonly values: (given: Given) => Parameter[];
}

/** Writes a statement. `make` turns its text into one. */
export function writeStatement<Row, Given>(
  write: (add: AddParameter<Given>) => string,
  make: (text: string) => Statement<Row>,
): WrittenStatement<Row, Given> {
  const sources: ((given: Given) => Parameter)[] = [];
  const text = write((source) => `$${sources.push(source)}`);
  return { statement: make(text), values: (given) => sources.map((source) => source(given)) };
}

/** The rows of a statement. Throws DatabaseError. */
export const queryWritten = <Row, Given>(
  db: Queryable,
  { statement, values }: WrittenStatement<Row, Given>,
  given: Given,
): Promise<Row[]> => db.query(statement, values(given));
