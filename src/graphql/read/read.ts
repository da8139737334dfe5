import { type Queryable, type Statement, statement } from '../../platform/db/statement.ts';
import { type Entity, selectList } from './entity.ts';

/** A row with an id. */
export interface Identified {
  readonly id: string;
}

const byIdStatements = new WeakMap<object, Statement<unknown>>();

function byIds<Row extends object>(entity: Entity<Row>): Statement<Row> {
  let found = byIdStatements.get(entity);
  if (found === undefined) {
    found = statement(
      `${entity.name}_by_id`,
      `SELECT ${selectList(entity)} FROM ${entity.source.from} WHERE t.id = ANY($1::uuid[])`,
    );
    byIdStatements.set(entity, found);
  }
  return found as Statement<Row>;
}

/** The row with the id, or undefined. `id` is a UUID. */
export async function readById<Row extends Identified>(
  db: Queryable,
  entity: Entity<Row>,
  id: string,
): Promise<Row | undefined> {
  const [row] = await db.query(byIds(entity), [[id]]);
  return row;
}

/** The rows with the ids, in the order of the ids; undefined for an id without a row. One statement. */
export async function readByIds<Row extends Identified>(
  db: Queryable,
  entity: Entity<Row>,
  ids: readonly string[],
): Promise<(Row | undefined)[]> {
  const rows = await db.query(byIds(entity), [ids]);
  const found = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => found.get(id));
}
