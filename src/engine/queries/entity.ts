import type { Parameter } from '../../database/statement.ts';
import type { Table } from '../../generated/tables.ts';
import { getOrCreate } from '../../platform/cache.ts';

/** Computed fields by the property that they read. The schema build fills the map. */
const readers = new Map<string, Set<string>>();

export function noteReader(property: string, field: string): void {
  getOrCreate(readers, property, () => new Set()).add(field);
}

export const isRead = (property: string, names: ReadonlySet<string>): boolean =>
  names.has(property) || [...(readers.get(property) ?? [])].some((name) => names.has(name));

/** The row's table has the alias `t`. */
interface FromClause {
  readonly from: string;
  readonly createdAt: string;
  readonly id: string;
}

/** Lists are ordered by a timestamp and the id. */
export interface Entity<Row extends object, Name extends string = string> {
  readonly name: Name;
  readonly columns: { readonly [Property in keyof Row & string]: string };
  readonly source: FromClause;
  readonly texts?: readonly string[];
  /** The rows that have a value, in the order of the list and from one index. */
  readonly filteredBy?: FromClause & {
    /** The FROM clause if only the keys of the rows are needed. */
    readonly keys: string;
    readonly value: string;
    /** Returns SQL of the number of the values that the row with an id has. `values` is an array. */
    readonly countOf: (id: string, values: string) => string;
  };
  /** Never set, because the property only carries the row type. */
  readonly row?: Row;
}

export type EntityRow<E> = E extends Entity<infer Row> ? Row : never;

export type KeyOfType<Row, Value> = {
  [Key in keyof Row]: Row[Key] extends Value ? Key : never;
}[keyof Row] &
  string;

interface EntityOptions<Row extends object, Filled extends keyof Row, Value extends object> {
  /** The property whose value replaces a null value. */
  readonly fallbacks?: { readonly [Property in Filled]: NoInfer<KeyOfType<Row, NonNullable<Row[Property]>>> };
  readonly texts?: readonly NoInfer<KeyOfType<Row, string>>[];
  /** A table with a row for each value of a row, and with that row's creation time. `key` holds that row's id. */
  readonly filteredBy?: {
    readonly by: Table<Value>;
    readonly key: NoInfer<KeyOfType<Value, string>>;
    readonly value: NoInfer<keyof Value & string>;
  };
}

export function createEntity<
  Row extends { readonly id: string; readonly createdAt: Date },
  Name extends string,
  Filled extends keyof Row & string = never,
  Value extends { readonly createdAt: Date } = Row,
>(
  { name, columns }: Table<Row, Name>,
  { fallbacks, texts, filteredBy }: EntityOptions<Row, Filled, Value> = {},
): Entity<{ readonly [P in keyof Row]: P extends Filled ? NonNullable<Row[P]> : Row[P] }, Name> {
  /** Ids are of type uuid, and columns with a string are of type text. */
  const fallbackSql = (property: keyof Row & string) =>
    property === 'id' ? `t.${columns.id}::text` : `t.${columns[property]}`;
  const filled = Object.entries<string>(columns).map(([property, column]) => {
    const fallback = fallbacks?.[property as Filled];
    return [
      property,
      fallback === undefined ? `t.${column}` : `coalesce(t.${column}, ${fallbackSql(fallback)})`,
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
    countOf: (of, values) =>
      `(SELECT count(*) FROM ${by.name} v WHERE v.${by.columns[key]} = ${of} AND v.${by.columns[value]} = ANY(${values}))`,
  };
}

/** `mark` tells the order in a cursor. An entity with the order `recently-updated` has the property `updatedAt`. */
export const ORDERS = {
  'newest-first': { property: 'createdAt', isDescending: true, mark: 1 },
  'oldest-first': { property: 'createdAt', isDescending: false, mark: 2 },
  'recently-updated': { property: 'updatedAt', isDescending: true, mark: 3 },
} as const;

export type ListOrder = keyof typeof ORDERS;

/** The part of a page that `ListRelation.rows` reads. */
export interface RequestedRows {
  readonly limit: number;
  readonly after?: { readonly at: Date; readonly id: string };
  /** Values for the parameters of the SQL. */
  readonly terms?: Readonly<Record<string, Parameter>>;
}

/** Contains all rows of an entity or, with `parent`, the rows of a parent. */
export interface ListRelation<Row extends object> {
  readonly name: string;
  readonly entity: Entity<Row>;
  readonly parent?: string;
  readonly order: ListOrder;
  /** SQL of the rows of a page of a connection, with `MATCHES` and `IS_LAST`, if no index of the table finds them. */
  readonly rows?: (
    page: RequestedRows,
    columns: readonly string[],
    add: (source: (page: RequestedRows) => Parameter) => string,
  ) => string;
}

const listRelations = new WeakMap<object, Map<string, ListRelation<object>>>();

/** The fields that show a list share one relation, because a batch reads the keys of one relation together. */
export function getListRelation<Row extends object>(
  entity: Entity<Row>,
  key: keyof Row & string,
  order: ListOrder,
): ListRelation<Row> {
  const known = getOrCreate(listRelations, entity, () => new Map());
  const name = `${entity.name}_of_${key.replace(/Id$/, '')}`;
  const relation = { name, entity, parent: entity.columns[key], order };
  return getOrCreate(known, `${key} ${order}`, () => relation) as ListRelation<Row>;
}

export function selectList(
  { columns }: Pick<Entity<object>, 'columns'>,
  properties: Iterable<string> = Object.keys(columns),
): string {
  const known: Readonly<Record<string, string>> = columns;
  return [...properties].map((property) => `${known[property]} AS "${property}"`).join(', ');
}
