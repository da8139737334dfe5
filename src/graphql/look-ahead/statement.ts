import { getArgumentValues, isNonNullType } from 'graphql';
import type { Parameter } from '../../platform/db/statement.ts';
import type { Page } from '../pagination/arguments.ts';
import { type Entity, selectList } from '../read/entity.ts';
import { pageClauses, pageShape, pageValues } from '../read/page-statement.ts';
import { connectionPieces } from './connection-sql.ts';
import { aheadKey, isToMany, type ToManyEdge } from './edge.ts';
import {
  anyJson,
  columnJson,
  concatenation,
  type NamedJson,
  objectPieces,
  type Piece,
  valuesOf,
} from './json-text.ts';
import { nodesPieces } from './nodes-sql.ts';
import type { ConnectionPlan, EdgePlan, JsonForm, ObjectPlan, RootMember } from './plan.ts';
import { showsNextPage } from './plan-connection.ts';

type Variables = Readonly<Record<string, unknown>>;

/** The column with the number of a row in its page, from 1. */
const ROW_NUMBER = '$n';

/** The page of each list in a plan, for a request's arguments. Lists with invalid arguments have none. */
export interface Pages {
  readonly pages: ReadonlyMap<EdgePlan, Page>;
  /** The part of the pages that changes the statement's text. */
  readonly shape: string;
}

/** A connection reads one extra row if it has to tell whether there is a next page. */
export function rowsToRead({ edge, connection }: EdgePlan, page: Page): Page {
  const oneMore = edge.kind === 'connection' && (connection === undefined || showsNextPage(connection));
  return oneMore ? { ...page, limit: page.limit + 1 } : page;
}

type ListPlan = EdgePlan & { readonly edge: ToManyEdge; readonly object: ObjectPlan };

/** The query of these rows of a list. */
export function rowsSql(
  { edge: { list }, object }: ListPlan,
  rows: Page,
  parent: string | undefined,
  firstParameter: number,
): string {
  const parentId = list.parent === undefined ? undefined : `${parent}."id"`;
  return `SELECT ${selectFor(object)} ${pageClauses(list, rows, parentId, firstParameter)}`;
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
export function listRows(
  plan: ListPlan,
  page: Page,
  parent: string | undefined,
  firstParameter: number,
): ListRows {
  const { edge, object } = plan;
  const rows = rowsSql(plan, rowsToRead(plan, page), parent, firstParameter);
  if (edge.kind !== 'connection' || object.edges.size === 0) return { from: rows, perRow: (shown) => shown };
  return {
    from: `SELECT p.*, row_number() OVER () AS "${ROW_NUMBER}" FROM (${rows}) AS p`,
    perRow: (shown, hidden, alias) =>
      `CASE WHEN ${alias}."${ROW_NUMBER}" <= ${page.limit} THEN ${shown} ELSE ${hidden} END`,
  };
}

/** The pages of all lists in a plan. A list with invalid arguments is left to its resolver. */
export function resolvePages(root: EdgePlan, variables: Variables): Pages {
  const pages = new Map<EdgePlan, Page>();
  let shape = '';
  const visit = (plan: EdgePlan): void => {
    const { edge, object, types } = plan;
    if (isToMany(edge)) {
      const page = pageOf(plan, edge, variables);
      shape += page === undefined ? '!' : `,${pageShape(rowsToRead(plan, page))}`;
      if (page === undefined) return;
      pages.set(plan, page);
    }
    if (object !== undefined) for (const child of object.edges.values()) visit(child);
    else if (types !== undefined)
      for (const { edges } of types) for (const child of edges.values()) visit(child);
  };
  visit(root);
  return { pages, shape };
}

function pageOf({ field, node }: EdgePlan, edge: ToManyEdge, variables: Variables): Page | undefined {
  try {
    return edge.page(getArgumentValues(field, node, variables));
  } catch {
    return undefined;
  }
}

/** The parameters of the statement, in the order of its text. */
export function pageParameters({ pages }: Pages): Parameter[] {
  return [...pages].flatMap(([plan, page]) => pageValues(rowsToRead(plan, page)));
}

/** The select list of the columns that a row's JSON and its edges need. */
export function selectFor({ entity, columns, edges }: ObjectPlan): string {
  const needed = new Set(columns);
  for (const { edge } of edges.values()) if (edge.kind === 'one') needed.add(edge.key);
  return selectList(entity, needed);
}

export const rowById = ({ source }: Entity<object>, id: string) =>
  `FROM ${source.from} WHERE ${source.id} = ${id}`;

/** The id of the row that an event is about, in `eventsSql`. */
const EVENT_ROW_ID = 'k.id';

/**
 * The SQL that writes the response of each event, in the order of the ids in the first parameter; null for an
 * id without a row.
 */
export function eventsSql(roots: readonly RootMember[], pages: Pages): string {
  return `${buildSql(roots, pages, 'whole')} FROM unnest($1::uuid[]) WITH ORDINALITY AS k(id, n) ORDER BY k.n`;
}

const NULL: readonly Piece[] = [{ text: 'null' }];

/**
 * The SQL that reads root fields and everything in their plans as one JSON text, compact and on one line. A
 * subquery finds, orders and limits the rows; their JSON is built outside it, so none is built for rows that
 * are not returned. The JSON is built as text: PostgreSQL's JSON functions add white space between rows, take
 * at most 100 arguments, and cost more. In the form `ahead` there is one root and the text is its value; in
 * the form `whole` the text is an object of all roots.
 */
export function buildSql(roots: readonly RootMember[], { pages }: Pages, form: JsonForm): string {
  let aliases = 0;
  let parameters = 0;

  const nextAlias = (): string => {
    aliases += 1;
    return `r${aliases}`;
  };

  const nextParameters = (page: Page): number => {
    const first = parameters + 1;
    parameters += pageValues(page).length;
    return first;
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

  function wholeMembers({ members = [] }: ObjectPlan, alias: string): NamedJson[] {
    return valuesOf(members, (member) =>
      member.kind === 'column'
        ? columnJson(member.type, `${alias}."${member.property}"`)
        : (edgePieces(member.plan, alias) ?? NULL),
    );
  }

  /** The JSON of the row under `alias`. */
  const rowJson = (plan: ObjectPlan, alias: string): string =>
    concatenation(objectPieces(form === 'whole' ? wholeMembers(plan, alias) : aheadMembers(plan, alias)));

  /** The JSON of the row with an id; NULL if there is none. */
  function rowWithId(object: ObjectPlan, id: string): string {
    const alias = nextAlias();
    const row = `SELECT ${selectFor(object)} ${rowById(object.entity, id)}`;
    return `(SELECT ${rowJson(object, alias)} FROM (${row}) AS ${alias})`;
  }

  function connectionJson(
    plan: ListPlan,
    connection: ConnectionPlan,
    page: Page,
    parent: string | undefined,
  ): Piece[] {
    const rows = rowsSql(plan, rowsToRead(plan, page), parent, nextParameters(page));
    return connectionPieces({ plan: connection, page, rows, nextAlias, nodeJson: rowJson });
  }

  /** The value of an edge; undefined if it is left to a resolver. */
  function edgePieces(plan: EdgePlan, parent: string | undefined): readonly Piece[] | undefined {
    const { edge, object } = plan;
    if (edge.kind === 'values') return [{ sql: edge.sql(parent ?? '') }];
    if (edge.kind === 'by-id') {
      // The ids precede the parameters of the edges of their rows.
      parameters += 1;
      return nodesPieces(plan, `$${parameters}`, rowWithId);
    }
    if (object === undefined) return undefined;
    if (edge.kind === 'event') {
      // The ids of the events' rows are the first parameter.
      parameters += 1;
      return [{ sql: rowWithId(object, EVENT_ROW_ID) }];
    }
    if (edge.kind === 'row' || edge.kind === 'one') {
      // The id of a root row precedes the parameters of its edges.
      if (edge.kind === 'row') parameters += 1;
      const id = edge.kind === 'row' ? `$${parameters}` : `${parent}."${edge.key}"`;
      const sql = rowWithId(object, id);
      // Without a row that may not be absent, the whole text is NULL: an execution reports the error.
      const mayBeNull = edge.kind === 'one' || !isNonNullType(plan.field.type);
      return [{ sql: mayBeNull ? `coalesce(${sql}, 'null')` : sql }];
    }
    const page = pages.get(plan);
    if (page === undefined) return undefined;
    const alias = nextAlias();
    if (plan.connection !== undefined)
      return connectionJson({ ...plan, edge, object }, plan.connection, page, parent);
    // Before the edges of the rows: parameters are numbered in the order of the pages.
    const first = nextParameters(page);
    const rows = listRows({ ...plan, edge, object }, page, parent, first);
    const json = rows.perRow(rowJson(object, alias), "'null'", alias);
    const sql = `coalesce((SELECT string_agg(${json}, ',') FROM (${rows.from}) AS ${alias}), '')`;
    return [{ text: '[' }, { sql }, { text: ']' }];
  }

  const values = valuesOf(roots, ({ plan }) => edgePieces(plan, undefined) ?? NULL);
  const [only] = values;
  const pieces = form === 'ahead' && only !== undefined ? only[1] : objectPieces(values);
  return `SELECT ${concatenation(pieces)} AS data`;
}
