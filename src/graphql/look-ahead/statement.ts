import { getArgumentValues } from 'graphql';
import type { Parameter } from '../../platform/db/statement.ts';
import type { Page } from '../pagination/arguments.ts';
import type { Entity } from '../read/entity.ts';
import { pageClauses, pageShape, pageValues } from '../read/page-statement.ts';
import { aheadKey, isToMany, type ToManyEdge } from './edge.ts';
import type { EdgePlan, ObjectPlan } from './plan.ts';

type Variables = Readonly<Record<string, unknown>>;

/** What the arguments of a request make of a plan: the page of each list in it, and those that they spoil. */
export interface Pages {
  readonly pages: ReadonlyMap<EdgePlan, Page>;
  /** What of the pages changes the statement's text. */
  readonly shape: string;
}

/** Reads one row more than a connection shows, which tells whether there is a next page. */
function rowsToRead({ edge }: EdgePlan, page: Page): Page {
  return edge.kind === 'connection' ? { ...page, limit: page.limit + 1 } : page;
}

/** The pages of all lists under a plan. A list whose arguments are refused is left to its resolver, which says so. */
export function resolvePages(root: EdgePlan, variables: Variables): Pages {
  const pages = new Map<EdgePlan, Page>();
  let shape = '';
  const visit = (plan: EdgePlan): void => {
    const { edge, field, node, object } = plan;
    if (isToMany(edge)) {
      const page = pageOf(edge, getArgumentValues(field, node, variables));
      shape += page === undefined ? '!' : `,${pageShape(rowsToRead(plan, page))}`;
      if (page === undefined) return;
      pages.set(plan, page);
    }
    if (object !== undefined) for (const child of object.edges.values()) visit(child);
  };
  visit(root);
  return { pages, shape };
}

function pageOf(edge: ToManyEdge, args: Record<string, unknown>): Page | undefined {
  try {
    return edge.page(args);
  } catch {
    return undefined;
  }
}

/** The parameters of the statement, in the order in which its text names them. */
export function pageParameters({ pages }: Pages): Parameter[] {
  return [...pages].flatMap(([plan, page]) => pageValues(rowsToRead(plan, page)));
}

/** The properties that the JSON of a row, or what hangs on it, is made of. */
function columnsOf({ entity, columns, edges }: ObjectPlan): string {
  const needed = new Set(columns);
  for (const { edge } of edges.values()) if (edge.kind === 'one') needed.add(edge.key);
  const known: Readonly<Record<string, string>> = entity.columns;
  return [...needed].map((property) => `t.${known[property]} AS "${property}"`).join(', ');
}

const rowById = ({ source }: Entity<object>, id: string) => `FROM ${source.from} WHERE ${source.id} = ${id}`;

/** A name in the JSON, and the SQL of its value. */
type SqlMember = readonly [string, string];

/**
 * PostgreSQL cuts the names of columns here. Below it the members of an object are columns of a row, whose JSON costs
 * half of what json_build_object does.
 */
const MAX_NAME_LENGTH = 63;

/** `ahead`: rows for resolvers, by property. `whole`: the response itself, by response name. */
export type JsonForm = 'ahead' | 'whole';

/** RFC 3339 in UTC with milliseconds, as the DateTime scalar prints it. */
const printedInstant = (value: string) =>
  `to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/**
 * The SQL that reads root fields and all that their plans hold as one JSON text. Rows are found, ordered and cut first,
 * and their JSON is built outside of that, so that nothing is built for a row that is not returned. Of the form `ahead`
 * there is one root, and the text is its value; of the form `whole` it is an object with all of them.
 */
export function buildSql(roots: ReadonlyMap<string, EdgePlan>, { pages }: Pages, form: JsonForm): string {
  let aliases = 0;
  let parameters = 0;

  const nextParameters = (page: Page): number => {
    const first = parameters + 1;
    parameters += pageValues(page).length;
    return first;
  };

  function aheadMembers({ columns, edges }: ObjectPlan, alias: string): SqlMember[] {
    const members = [...columns].map((property): SqlMember => {
      const value = `${alias}."${property}"`;
      return [property, property === 'createdAt' ? `(extract(epoch FROM ${value}) * 1000)::bigint` : value];
    });
    for (const [name, child] of edges) {
      const sql = edgeSql(child, alias);
      if (sql !== undefined) members.push([aheadKey(name), sql]);
    }
    return members;
  }

  function wholeMembers({ members = [] }: ObjectPlan, alias: string): SqlMember[] {
    return members.map((member): SqlMember => {
      if (member.kind === 'typename') return [member.name, `'${member.type}'::text`];
      if (member.kind === 'edge') return [member.name, edgeSql(member.plan, alias) ?? 'NULL'];
      const value = `${alias}."${member.property}"`;
      return [member.name, member.property === 'createdAt' ? printedInstant(value) : value];
    });
  }

  /** The JSON of the rows, by the function that makes it of one or of many. */
  function json(
    plan: ObjectPlan,
    alias: string,
    rows: string,
    aggregate: 'row_to_json' | 'json_agg',
  ): string {
    const members = form === 'whole' ? wholeMembers(plan, alias) : aheadMembers(plan, alias);
    const named = members.length > 0 && members.every(([name]) => name.length <= MAX_NAME_LENGTH);
    if (!named) {
      const object = `json_build_object(${members.map(([name, sql]) => `'${name}', ${sql}`).join(', ')})`;
      return `${aggregate === 'json_agg' ? `json_agg(${object})` : object} FROM (${rows}) AS ${alias}`;
    }
    const select = members.map(([name, sql]) => `${sql} AS "${name}"`).join(', ');
    return `${aggregate}(${alias}o) FROM (SELECT ${select} FROM (${rows}) AS ${alias}) AS ${alias}o`;
  }

  function edgeSql(plan: EdgePlan, parent: string | undefined): string | undefined {
    const { edge, object } = plan;
    if (edge.kind === 'values') return edge.sql(parent ?? '');
    if (object === undefined) return undefined;
    aliases += 1;
    const alias = `r${aliases}`;
    if (edge.kind === 'row' || edge.kind === 'one') {
      // The id of a root row comes before the parameters of what hangs on it.
      if (edge.kind === 'row') parameters += 1;
      const id = edge.kind === 'row' ? `$${parameters}` : `${parent}."${edge.key}"`;
      const row = `SELECT ${columnsOf(object)} ${rowById(edge.entity, id)}`;
      return `(SELECT ${json(object, alias, row, 'row_to_json')})`;
    }
    const page = pages.get(plan);
    if (page === undefined) return undefined;
    const read = rowsToRead(plan, page);
    const parentId = edge.list.parent === undefined ? undefined : `${parent}."id"`;
    const rows = `SELECT ${columnsOf(object)} ${pageClauses(edge.list, read, parentId, nextParameters(read))}`;
    return `coalesce((SELECT ${json(object, alias, rows, 'json_agg')}), '[]'::json)`;
  }

  const values = [...roots].map(([name, plan]) => [name, edgeSql(plan, undefined)] as const);
  if (form === 'ahead') return `SELECT ${values[0]?.[1]}::text AS data`;
  const members = values.map(([name, sql]) => `'"${name}":' || coalesce(${sql}::text, 'null')`);
  return `SELECT '{' || ${members.join(" || ',' || ")} || '}' AS data`;
}
