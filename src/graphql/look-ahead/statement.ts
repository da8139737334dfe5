import { GraphQLID, GraphQLString, getNullableType, isNonNullType } from 'graphql';
import type { EventRecord } from '../../events/position.ts';
import { instantText } from '../../platform/db/parameter.ts';
import type { Page } from '../pagination/arguments.ts';
import { type Entity, selectList } from '../read/entity.ts';
import { pageClauses } from '../read/page-statement.ts';
import {
  fromCaller,
  fromIds,
  fromPage,
  fromParameters,
  type Given,
  type PlanSql,
  rowsToRead,
} from './arguments.ts';
import { connectionPieces } from './connection-sql.ts';
import {
  aheadKey,
  type CallerSql,
  type EventEdge,
  isToMany,
  type ToManyEdge,
  type ValueEdge,
} from './edge.ts';
import {
  anyJson,
  columnJson,
  computedJson,
  concatenation,
  type NamedJson,
  objectPieces,
  type Piece,
  valuesOf,
} from './json-text.ts';
import { nodesPieces } from './nodes-sql.ts';
import type { ColumnMember, ConnectionPlan, EdgePlan, JsonForm, ObjectPlan, RootMember } from './plan.ts';
import { rowProperties } from './plan-edge.ts';

/** The column with the number of a row in its page, from 1. */
const ROW_NUMBER = '$n';

type ListPlan = EdgePlan & { readonly edge: ToManyEdge; readonly object: ObjectPlan };

export const isListPlan = (plan: EdgePlan): plan is ListPlan =>
  isToMany(plan.edge) && plan.object !== undefined;

/** The query of these rows of a list. */
export function rowsSql(plan: ListPlan, rows: Page, parent: string | undefined, sql: PlanSql): string {
  const { list } = plan.edge;
  const parentId = list.parent === undefined ? undefined : `${parent}."id"`;
  const clauses = pageClauses(list, rows, parentId, (source) => sql.ofEdge(plan, fromPage(source)));
  return `SELECT ${selectFor(plan.object)} ${clauses}`;
}

/** The rows of a list in SQL, and what is read from each. */
interface ListRows {
  readonly from: string;
  /** `shown` for the row under `alias`, or `hidden` for a connection's extra row. */
  perRow(shown: string, hidden: string, alias: string): string;
}

/**
 * The rows of a list. The edges of a connection's extra row are not read: the operation's cost does not
 * include them, and in nested connections they would double at each level.
 */
export function listRows(plan: ListPlan, page: Page, parent: string | undefined, sql: PlanSql): ListRows {
  const { edge, object } = plan;
  const rows = rowsSql(plan, rowsToRead(plan, page), parent, sql);
  if (edge.kind !== 'connection' || object.edges.size === 0) return { from: rows, perRow: (shown) => shown };
  return {
    from: `SELECT p.*, row_number() OVER () AS "${ROW_NUMBER}" FROM (${rows}) AS p`,
    perRow: (shown, hidden, alias) =>
      `CASE WHEN ${alias}."${ROW_NUMBER}" <= ${page.limit} THEN ${shown} ELSE ${hidden} END`,
  };
}

/** The select list of the columns that a row's JSON and its edges need. */
export function selectFor({ entity, columns, edges }: ObjectPlan): string {
  const needed = new Set(columns);
  for (const { edge } of edges.values()) if (edge.kind === 'one') needed.add(edge.key);
  return selectList(entity, needed);
}

export const rowById = ({ source }: Entity<object>, id: string) =>
  `FROM ${source.from} WHERE ${source.id} = ${id}`;

/** For a value that does not depend on the caller. */
const NOBODY: CallerSql = { id: 'NULL', isAdmin: 'false' };

/** What stands for the caller, in the SQL of a value that depends on it. */
function callerSql(plan: EdgePlan, { ofCaller }: ValueEdge, sql: PlanSql): CallerSql {
  if (ofCaller !== true) return NOBODY;
  return {
    id: `${sql.ofEdge(plan, fromCaller('id'))}::uuid`,
    isAdmin: `${sql.ofEdge(plan, fromCaller('isAdmin'))}::boolean`,
  };
}

/** The SQL of a computed value of the row under `alias`; undefined if its arguments are invalid. */
export function valueSql(plan: EdgePlan, edge: ValueEdge, alias: string, sql: PlanSql): string | undefined {
  const { field } = plan;
  if (field.args.length > 0 && !sql.edges.has(plan)) return undefined;
  const row = rowProperties(field).map((name) => [name, `${alias}."${name}"`]);
  const parameters = field.args.map(({ name }) => [name, sql.ofEdge(plan, fromParameters(name))]);
  const value = `(${edge.sql(Object.fromEntries(row), Object.fromEntries(parameters), callerSql(plan, edge, sql))})`;
  const type = getNullableType(field.type);
  return type === GraphQLString || type === GraphQLID ? `${value}::text` : value;
}

/** The columns of an event in `eventsSql`, with their types and where their values come from. */
const EVENT_COLUMNS = {
  root_id: ['uuid', ({ rootId }: EventRecord) => rootId],
  part_id: ['uuid', ({ partId }: EventRecord) => partId],
  kind: ['text', ({ kind }: EventRecord) => kind],
  created_at: ['timestamptz', ({ createdAt }: EventRecord) => instantText(createdAt)],
} as const;
const EVENT = 'k';

type EventColumn = keyof typeof EVENT_COLUMNS;
const ALL_EVENT_COLUMNS = Object.keys(EVENT_COLUMNS) as EventColumn[];

const fromEvents =
  (column: EventColumn) =>
  ({ events = [] }: Given) =>
    events.map(EVENT_COLUMNS[column][1]);

/** The SQL that writes the response to each event, in order; null for an event whose row is gone. */
export function eventsSql(roots: readonly RootMember[], { shows }: EventEdge, sql: PlanSql): string {
  const columns: readonly EventColumn[] = shows === 'row' ? ['root_id'] : ALL_EVENT_COLUMNS;
  const lists = columns.map((column) => `${sql.add(fromEvents(column))}::${EVENT_COLUMNS[column][0]}[]`);
  const from = `unnest(${lists.join(', ')}) WITH ORDINALITY AS ${EVENT}(${columns.join(', ')}, n)`;
  return `${buildSql(roots, sql, 'whole')} FROM ${from} ORDER BY ${EVENT}.n`;
}

const NULL: readonly Piece[] = [{ text: 'null' }];

const columnKey = ({ property, type }: ColumnMember) => `${property} ${type}`;

/** One member of each column that a selection has under several names. */
function repeatedColumns({ members = [] }: ObjectPlan): ColumnMember[] {
  const met = new Set<string>();
  const repeated = new Map<string, ColumnMember>();
  for (const member of members) {
    if (member.kind !== 'column') continue;
    const key = columnKey(member);
    if (met.has(key)) repeated.set(key, member);
    met.add(key);
  }
  return [...repeated.values()];
}

/** The columns whose JSON is written already, by their keys, and where it is. */
type Written = ReadonlyMap<string, string>;

const NOTHING_WRITTEN: Written = new Map();

/**
 * The SQL that reads root fields and everything in their plans as one JSON text, compact and on one line. A
 * subquery finds, orders and limits the rows; their JSON is built outside it, so none is built for rows that
 * are not returned. The JSON is built as text: PostgreSQL's JSON functions add white space between rows, take
 * at most 100 arguments, and cost more. In the form `ahead` there is one root and the text is its value; in
 * the form `whole` the text is an object of all roots.
 */
export function buildSql(roots: readonly RootMember[], sql: PlanSql, form: JsonForm): string {
  let aliases = 0;

  const nextAlias = (): string => {
    aliases += 1;
    return `r${aliases}`;
  };

  function aheadMembers({ columns, codecs, edges, typename }: ObjectPlan, alias: string): NamedJson[] {
    const members = [...columns].map((property): NamedJson => {
      const value = `${alias}."${property}"`;
      const codec = codecs.get(property);
      return [property, codec === undefined ? anyJson(value) : [{ sql: codec.sql(value) }]];
    });
    if (typename !== undefined) members.push(['__typename', [{ text: JSON.stringify(typename) }]]);
    for (const [name, child] of edges) {
      const value = edgePieces(child, alias);
      if (value !== undefined) members.push([aheadKey(name), value]);
    }
    return members;
  }

  function wholeMembers({ members = [] }: ObjectPlan, alias: string, written: Written): NamedJson[] {
    return valuesOf(members, (member) => {
      if (member.kind === 'edge') return edgePieces(member.plan, alias) ?? NULL;
      const place = written.get(columnKey(member));
      return place === undefined
        ? columnJson(member.type, `${alias}."${member.property}"`)
        : [{ sql: place }];
    });
  }

  /**
   * A column under several names is written once: escaping a text can take longer than everything else. `OFFSET 0`
   * keeps PostgreSQL from writing it at each name.
   */
  function wholeRow(plan: ObjectPlan, alias: string): string {
    const repeated = repeatedColumns(plan);
    if (repeated.length === 0) return concatenation(objectPieces(wholeMembers(plan, alias, NOTHING_WRITTEN)));
    const inner = nextAlias();
    const texts = repeated.map(
      ({ type, property }, index) =>
        `${concatenation(columnJson(type, `${alias}."${property}"`))} AS c${index}`,
    );
    const written = new Map(repeated.map((member, index) => [columnKey(member), `${inner}.c${index}`]));
    const json = concatenation(objectPieces(wholeMembers(plan, alias, written)));
    return `(SELECT ${json} FROM (SELECT ${texts.join(', ')} OFFSET 0) AS ${inner})`;
  }

  /** The JSON of the row under `alias`. */
  const rowJson = (plan: ObjectPlan, alias: string): string =>
    form === 'whole' ? wholeRow(plan, alias) : concatenation(objectPieces(aheadMembers(plan, alias)));

  /** The JSON of the row with an id; NULL if there is none. */
  function rowWithId(object: ObjectPlan, id: string): string {
    const alias = nextAlias();
    const row = `SELECT ${selectFor(object)} ${rowById(object.entity, id)}`;
    return `(SELECT ${rowJson(object, alias)} FROM (${row}) AS ${alias})`;
  }

  /** The JSON of the event itself. */
  function eventItself(object: ObjectPlan): string {
    const alias = nextAlias();
    const row = `SELECT ${selectFor(object)} FROM (SELECT ${EVENT}.*) AS t`;
    return `(SELECT ${rowJson(object, alias)} FROM (${row}) AS ${alias})`;
  }

  function connectionJson(
    plan: ListPlan,
    connection: ConnectionPlan,
    page: Page,
    parent: string | undefined,
  ): Piece[] {
    const rows = rowsSql(plan, rowsToRead(plan, page), parent, sql);
    const { list } = plan.edge;
    return connectionPieces({ plan: connection, list, page, rows, nextAlias, nodeJson: rowJson });
  }

  /** The value of an edge; undefined if it is left to a resolver. */
  function edgePieces(plan: EdgePlan, parent: string | undefined): readonly Piece[] | undefined {
    const { edge, object } = plan;
    if (edge.kind === 'value') {
      const value = valueSql(plan, edge, parent ?? '', sql);
      if (value === undefined) return undefined;
      return form === 'whole' ? computedJson(plan.field.type, value) : anyJson(value);
    }
    if (edge.kind === 'by-id') {
      const ids = sql.ofEdge(plan, fromIds);
      return nodesPieces(plan, ids, rowWithId);
    }
    if (object === undefined) return undefined;
    if (edge.kind === 'event')
      return [{ sql: edge.shows === 'row' ? rowWithId(object, `${EVENT}.root_id`) : eventItself(object) }];
    if (edge.kind === 'row' || edge.kind === 'one') {
      const id = edge.kind === 'row' ? sql.ofEdge(plan, fromIds) : `${parent}."${edge.key}"`;
      const row = rowWithId(object, id);
      // Without a row that may not be absent, the whole text is NULL: an execution reports the error.
      const mayBeNull = edge.kind === 'one' || !isNonNullType(plan.field.type);
      return [{ sql: mayBeNull ? `coalesce(${row}, 'null')` : row }];
    }
    const page = sql.edges.get(plan)?.page;
    if (page === undefined || !isListPlan(plan)) return undefined;
    const alias = nextAlias();
    if (plan.connection !== undefined) return connectionJson(plan, plan.connection, page, parent);
    const rows = listRows(plan, page, parent, sql);
    const json = rows.perRow(rowJson(object, alias), "'null'", alias);
    const list = `coalesce((SELECT string_agg(${json}, ',') FROM (${rows.from}) AS ${alias}), '')`;
    return [{ text: '[' }, { sql: list }, { text: ']' }];
  }

  const values = valuesOf(roots, ({ plan }) => edgePieces(plan, undefined) ?? NULL);
  const [only] = values;
  const pieces = form === 'ahead' && only !== undefined ? only[1] : objectPieces(values);
  return `SELECT ${concatenation(pieces)} AS data`;
}
