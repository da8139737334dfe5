import { GraphQLID, GraphQLString, getNullableType, isNonNullType } from 'graphql';
import { formatTimestamp } from '../../../database/statement.ts';
import type { EventRecord } from '../../events/event.ts';
import { type Entity, selectList } from '../entity.ts';
import { type AddParameter, countRows, pageRows } from '../page-statement.ts';
import { type PageRange, propertyOf } from '../pagination.ts';
import {
  type CallerSql,
  type EventMapping,
  isToMany,
  type RowMapping,
  type ToManyRelation,
  type ToOneRelation,
  type ValueMapping,
} from '../sql-mappings.ts';
import {
  fromAccounts,
  fromCaller,
  fromIds,
  fromPage,
  fromParameters,
  type Given,
  type PlanSql,
  rowsToRead,
} from './arguments.ts';
import {
  type ColumnMember,
  type FieldPlan,
  isNodeList,
  type MappedMember,
  type ObjectPlan,
  type RootMember,
} from './plan.ts';
import { rowProperties } from './plan-field.ts';
import {
  columnJson,
  computedJson,
  concatenation,
  connectionFragments,
  type NamedJson,
  objectFragments,
  type SqlFragment,
  valuesOf,
} from './sql-fragments.ts';

/**
 * The subquery hides the array's length, so PostgreSQL assumes ten ids for custom and generic plans. With the length,
 * a custom plan for fewer ids would have the lower cost, and PostgreSQL would plan every execution.
 */
export const idRows = (parameter: string): string =>
  `unnest((SELECT ${parameter}::uuid[])) WITH ORDINALITY AS k(id, n)`;

export const ROW_ID = 'k.id';

/**
 * An id does not tell its type, so the SQL looks in one table after another until it finds a row. The JSON of a row
 * is never NULL, because nullable members are written as `null` and all other columns are NOT NULL. `rowWithId` returns
 * the JSON of a row, NULL without a row.
 */
export function nodesFragments(
  plan: FieldPlan,
  sql: PlanSql,
  rowWithId: (object: ObjectPlan, id: string, condition: string) => string,
): readonly SqlFragment[] {
  const { types = [] } = plan;
  const isList = isNodeList(plan);
  const parameter = sql.forField(plan, fromIds);
  const id = isList ? ROW_ID : `${parameter}::uuid`;
  const rows = types.map((type) => rowWithId(type, id, ownerCondition(plan, type, sql)));
  const node = `coalesce(${[...rows, "'null'"].join(', ')})`;
  if (!isList) return [{ sql: node }];
  const list = `SELECT string_agg(${node}, ',' ORDER BY k.n) FROM ${idRows(parameter)}`;
  return [{ text: '[' }, { sql: `coalesce((${list}), '')` }, { text: ']' }];
}

type ListPlan = FieldPlan & { readonly mapping: ToManyRelation; readonly object: ObjectPlan };

export const isListPlan = (plan: FieldPlan): plan is ListPlan =>
  isToMany(plan.mapping) && plan.object !== undefined;

/** A list has SQL only if its arguments are valid. */
export function pageOf(plan: ListPlan, { byField }: PlanSql): PageRange {
  const page = byField.get(plan)?.page;
  if (page === undefined) throw new Error(`${plan.field.name} has no page`);
  return page;
}

const parentIdSql = ({ list }: ToManyRelation, parent: string | undefined) =>
  list.parent === undefined ? undefined : `${parent}."id"`;

export function rowsSql(plan: ListPlan, rows: PageRange, parent: string | undefined, sql: PlanSql): string {
  const { mapping, connection, object } = plan;
  const add: AddParameter<PageRange> = (source) => sql.forField(plan, fromPage(source));
  const isConnection = connection !== undefined;
  const columns = new Set(columnsOf(object));
  if (isConnection) columns.add(propertyOf(rows.order));
  return pageRows(mapping.list, rows, parentIdSql(mapping, parent), [...columns], isConnection, add);
}

function columnsOf({ columns, fieldPlans }: ObjectPlan): Set<string> {
  const needed = new Set(columns);
  for (const { mapping } of fieldPlans.values()) if (mapping.kind === 'one') needed.add(mapping.key);
  return needed;
}

export const selectFor = (object: ObjectPlan): string => selectList(object.entity, columnsOf(object));

export const rowById = ({ source }: Entity<object>, id: string, condition = '') =>
  `FROM ${source.from} WHERE ${source.id} = ${id}${condition}`;

/** SQL that hides a private node from all callers but its owner. */
export const ownerCondition = (plan: FieldPlan, { owner }: ObjectPlan, sql: PlanSql): string =>
  owner === undefined ? '' : ` AND ${owner.column} = ${sql.forField(plan, fromAccounts(owner.scope))}::uuid`;

/** SQL of the id of the row to which a field leads. */
export function rowIdSql(
  plan: FieldPlan,
  mapping: RowMapping | ToOneRelation,
  parent: string | undefined,
  sql: PlanSql,
): string {
  if (mapping.kind === 'one') return `${parent}."${mapping.key}"`;
  const value = sql.forField(plan, fromIds);
  return mapping.find?.(value) ?? value;
}

/** Replaces the caller in values that do not depend on the caller. */
const NO_CALLER: CallerSql = { id: 'NULL', isAdmin: 'false' };

function callerSql(plan: FieldPlan, { ofCaller }: ValueMapping, sql: PlanSql): CallerSql {
  if (ofCaller !== true) return NO_CALLER;
  return {
    id: `${sql.forField(plan, fromCaller('id'))}::uuid`,
    isAdmin: `${sql.forField(plan, fromCaller('isAdmin'))}::boolean`,
  };
}

export function valueSql(plan: FieldPlan, mapping: ValueMapping, alias: string, sql: PlanSql): string {
  const { field } = plan;
  const row = rowProperties(field).map((name) => [name, `${alias}."${name}"`]);
  const parameters = field.args.map(({ name }) => [name, sql.forField(plan, fromParameters(name))]);
  const value = `(${mapping.expression(Object.fromEntries(row), Object.fromEntries(parameters), callerSql(plan, mapping, sql))})`;
  const type = getNullableType(field.type);
  return type === GraphQLString || type === GraphQLID ? `${value}::text` : value;
}

const EVENT_COLUMNS = {
  root_id: ['uuid', ({ aggregateId }: EventRecord) => aggregateId],
  part_id: ['uuid', ({ entityId }: EventRecord) => entityId],
  kind: ['text', ({ kind }: EventRecord) => kind],
  created_at: ['timestamptz', ({ createdAt }: EventRecord) => formatTimestamp(createdAt)],
} as const;
const EVENT = 'k';

type EventColumn = keyof typeof EVENT_COLUMNS;
const ALL_EVENT_COLUMNS = Object.keys(EVENT_COLUMNS) as EventColumn[];

const fromEvents =
  (column: EventColumn) =>
  ({ events = [] }: Given) =>
    events.map(EVENT_COLUMNS[column][1]);

/** Writes the response to each event in order; null for an event whose row was deleted. */
export function eventsSql(roots: readonly RootMember[], { shows }: EventMapping, sql: PlanSql): string {
  const columns: readonly EventColumn[] = shows === 'row' ? ['root_id'] : ALL_EVENT_COLUMNS;
  const lists = columns.map((column) => `${sql.add(fromEvents(column))}::${EVENT_COLUMNS[column][0]}[]`);
  const from = `unnest(${lists.join(', ')}) WITH ORDINALITY AS ${EVENT}(${columns.join(', ')}, n)`;
  return `${buildSql(roots, sql)} FROM ${from} ORDER BY ${EVENT}.n`;
}

type RepeatableMember = ColumnMember | MappedMember;

const valueKey = (member: RepeatableMember) =>
  member.kind === 'mapped' ? member.plan : `${member.property} ${member.type}`;

function repeatedMembers({ members }: ObjectPlan): RepeatableMember[] {
  const met = new Set<unknown>();
  const repeated = new Map<unknown, RepeatableMember>();
  for (const member of members) {
    if (member.kind === 'typename') continue;
    const key = valueKey(member);
    if (met.has(key)) repeated.set(key, member);
    met.add(key);
  }
  return [...repeated.values()];
}

type Written = ReadonlyMap<unknown, string>;

const NOTHING_WRITTEN: Written = new Map();

/**
 * Returns SQL that reads root fields with their selections as one JSON string, compact and on one line. A subquery
 * finds, orders and limits the rows, and the JSON is built outside, so only returned rows are written. PostgreSQL's
 * JSON functions add white space between rows, take at most 100 arguments, and cost more than strings.
 */
export function buildSql(roots: readonly RootMember[], sql: PlanSql): string {
  let aliases = 0;

  const nextAlias = (): string => {
    aliases += 1;
    return `r${aliases}`;
  };

  const memberFragments = (member: RepeatableMember, alias: string): readonly SqlFragment[] =>
    member.kind === 'mapped'
      ? fieldFragments(member.plan, alias)
      : columnJson(member.type, `${alias}."${member.property}"`);

  function membersOf({ members }: ObjectPlan, alias: string, written: Written): NamedJson[] {
    return valuesOf(members, (member) => {
      const column = written.get(valueKey(member));
      return column === undefined ? memberFragments(member, alias) : [{ sql: column }];
    });
  }

  /**
   * A value under several names is written once, because escaping a string can take longer than everything else.
   * `OFFSET 0` keeps PostgreSQL from writing the value at each name.
   */
  function rowJson(plan: ObjectPlan, alias: string): string {
    const repeated = repeatedMembers(plan);
    if (repeated.length === 0) return concatenation(objectFragments(membersOf(plan, alias, NOTHING_WRITTEN)));
    const inner = nextAlias();
    const texts = repeated.map(
      (member, index) => `${concatenation(memberFragments(member, alias))} AS c${index}`,
    );
    const written = new Map(repeated.map((member, index) => [valueKey(member), `${inner}.c${index}`]));
    const json = concatenation(objectFragments(membersOf(plan, alias, written)));
    return `(SELECT ${json} FROM (SELECT ${texts.join(', ')} OFFSET 0) AS ${inner})`;
  }

  function rowWithId(object: ObjectPlan, id: string, condition?: string): string {
    const alias = nextAlias();
    const row = `SELECT ${selectFor(object)} ${rowById(object.entity, id, condition)}`;
    return `(SELECT ${rowJson(object, alias)} FROM (${row}) AS ${alias})`;
  }

  function eventItself(object: ObjectPlan): string {
    const alias = nextAlias();
    const row = `SELECT ${selectFor(object)} FROM (SELECT ${EVENT}.*) AS t`;
    return `(SELECT ${rowJson(object, alias)} FROM (${row}) AS ${alias})`;
  }

  function listFragments(plan: ListPlan, parent: string | undefined): readonly SqlFragment[] {
    const page = pageOf(plan, sql);
    const rows = rowsSql(plan, rowsToRead(plan, page), parent, sql);
    const { connection, mapping, object } = plan;
    if (connection !== undefined)
      return connectionFragments({
        plan: connection,
        list: mapping.list,
        page,
        rows,
        count: () =>
          countRows(mapping.list, page, parentIdSql(mapping, parent), (source) =>
            sql.forField(plan, fromPage(source)),
          ),
        nextAlias,
        nodeJson: rowJson,
      });
    const alias = nextAlias();
    const list = `coalesce((SELECT string_agg(${rowJson(object, alias)}, ',') FROM (${rows}) AS ${alias}), '')`;
    return [{ text: '[' }, { sql: list }, { text: ']' }];
  }

  function fieldFragments(plan: FieldPlan, parent: string | undefined): readonly SqlFragment[] {
    const { mapping, object } = plan;
    if (mapping.kind === 'value')
      return computedJson(plan.field.type, valueSql(plan, mapping, parent ?? '', sql));
    if (mapping.kind === 'by-id') return nodesFragments(plan, sql, rowWithId);
    if (isListPlan(plan)) return listFragments(plan, parent);
    if (object === undefined || isToMany(mapping)) throw new Error(`${plan.field.name} leads to no rows`);
    if (mapping.kind === 'event')
      return [{ sql: mapping.shows === 'row' ? rowWithId(object, `${EVENT}.root_id`) : eventItself(object) }];
    const row = rowWithId(object, rowIdSql(plan, mapping, parent, sql));
    // If a non-null row is missing, the whole JSON is NULL, and an execution reports the error.
    const mayBeNull = mapping.kind === 'one' || !isNonNullType(plan.field.type);
    return [{ sql: mayBeNull ? `coalesce(${row}, 'null')` : row }];
  }

  return `SELECT ${concatenation(objectFragments(valuesOf(roots, ({ plan }) => fieldFragments(plan, undefined))))} AS data`;
}
