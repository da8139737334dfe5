import type { Table } from '../../generated/tables.ts';

/** The names of the computed fields that read a property, by the property. Filled when the schema is built. */
const readers = new Map<string, Set<string>>();

export function noteReader(property: string, field: string): void {
  readers.set(property, (readers.get(property) ?? new Set()).add(field));
}

/** Whether an operation with fields of these names reads a property. */
export const isRead = (property: string, names: ReadonlySet<string>): boolean =>
  names.has(property) || [...(readers.get(property) ?? [])].some((name) => names.has(name));

/** The FROM clause of a list and the columns that order it. The row's table has the alias `t`. */
interface FromClause {
  readonly from: string;
  readonly createdAt: string;
  readonly id: string;
}

/** A table as the schema sees it. Every row has an id and a creation time; lists are ordered by the two. */
export interface Entity<Row extends object, Name extends string = string> {
  readonly name: Name;
  /** The SQL of each property of a row. */
  readonly columns: { readonly [Property in keyof Row & string]: string };
  readonly source: FromClause;
  /** Properties with long strings. */
  readonly texts?: readonly string[];
  /** The rows that have a value, in the same order and from one index. */
  readonly filteredBy?: FromClause & {
    /** The FROM clause if only the keys of the rows are needed. */
    readonly keys: string;
    /** The column to compare. */
    readonly value: string;
  };
  /** Never set: carries the row type. */
  readonly row?: Row;
}

/** The type of the rows of an entity. */
export type EntityRow<E> = E extends Entity<infer Row> ? Row : never;

/** The properties of a row whose values have a type. */
export type KeyOfType<Row, Value> = {
  [Key in keyof Row]: Row[Key] extends Value ? Key : never;
}[keyof Row] &
  string;

/** The options of an entity that the columns of its table do not define. */
interface EntityOptions<Row extends object, Filled extends keyof Row, Value extends object> {
  /** For properties that may be null, the property whose value counts instead. */
  readonly fallbacks?: { readonly [Property in Filled]: NoInfer<KeyOfType<Row, NonNullable<Row[Property]>>> };
  /** Properties with long strings. */
  readonly texts?: readonly NoInfer<KeyOfType<Row, string>>[];
  /** A table with a row for each value of a row and with the creation time of that row. `key` holds the id of that row. */
  readonly filteredBy?: {
    readonly by: Table<Value>;
    readonly key: NoInfer<KeyOfType<Value, string>>;
    readonly value: NoInfer<keyof Value & string>;
  };
}

/** Creates the entity of a table. */
export function createEntity<
  Row extends { readonly id: string; readonly createdAt: Date },
  Name extends string,
  Filled extends keyof Row & string = never,
  Value extends { readonly createdAt: Date } = Row,
>(
  { name, columns }: Table<Row, Name>,
  { fallbacks, texts, filteredBy }: EntityOptions<Row, Filled, Value> = {},
): Entity<{ readonly [P in keyof Row]: P extends Filled ? NonNullable<Row[P]> : Row[P] }, Name> {
  const filled = Object.entries<string>(columns).map(([property, column]) => {
    const fallback = fallbacks?.[property as Filled];
    return [
      property,
      fallback === undefined ? `t.${column}` : `coalesce(t.${column}, t.${columns[fallback]})`,
    ];
  });
  const from = `${name} t`;
  return {
    name,
    columns: Object.fromEntries(filled),
    source: { from, createdAt: `t.${columns.createdAt}`, id: `t.${columns.id}` },
    ...(texts && { texts }),
    ...(filteredBy && { filteredBy: createFilteredSource(filteredBy, from) }),
  };
}

function createFilteredSource<Value extends { readonly createdAt: Date }>(
  { by, key, value }: NonNullable<EntityOptions<object, never, Value>['filteredBy']>,
  from: string,
): NonNullable<Entity<object>['filteredBy']> {
  const [keys, id] = [`${by.name} g`, `g.${by.columns[key]}`];
  return {
    from: `${keys} JOIN ${from} ON t.id = ${id}`,
    keys,
    createdAt: `g.${by.columns.createdAt}`,
    id,
    value: `g.${by.columns[value]}`,
  };
}

export type ListOrder = 'newest-first' | 'oldest-first';

/** A list in the schema: all rows of an entity or, with `parent`, the rows of a parent. */
export interface ListRelation<Row extends object> {
  readonly name: string;
  readonly entity: Entity<Row>;
  /** The SQL of the parent's id. */
  readonly parent?: string;
  readonly order: ListOrder;
}

const listRelations = new WeakMap<object, Map<string, ListRelation<object>>>();

/**
 * Gets the list of an entity's rows by the property that holds the parent's id. The fields that show the list share one
 * relation, because a batch reads the keys of one relation together.
 */
export function getListRelation<Row extends object>(
  entity: Entity<Row>,
  key: keyof Row & string,
  order: ListOrder,
): ListRelation<Row> {
  const known = listRelations.get(entity) ?? new Map<string, ListRelation<object>>();
  listRelations.set(entity, known);
  const name = `${entity.name}_of_${key.replace(/Id$/, '')}`;
  const relation = known.get(`${key} ${order}`) ?? { name, entity, parent: entity.columns[key], order };
  known.set(`${key} ${order}`, relation);
  return relation as ListRelation<Row>;
}

/** Formats the select list of these properties of an entity; by default, of all. */
export function selectList(
  { columns }: Pick<Entity<object>, 'columns'>,
  properties: Iterable<string> = Object.keys(columns),
): string {
  const known: Readonly<Record<string, string>> = columns;
  return [...properties].map((property) => `${known[property]} AS "${property}"`).join(', ');
}
