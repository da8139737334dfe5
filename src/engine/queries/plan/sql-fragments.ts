import { GraphQLID, type GraphQLOutputType, getNullableType, isListType, isNonNullType } from 'graphql';
import type { ListOrder, ListRelation } from '../entity.ts';
import { checksRows, IS_LAST, inListOrder, MATCHES } from '../page-statement.ts';
import {
  CURSOR_CHARACTERS,
  cursorMark,
  cursorOfPosition,
  cursorPositionSql,
  endsOf,
  type PageRange,
  POSITION_CHARACTERS,
} from '../pagination.ts';
import {
  type ConnectionEdgeMember,
  type ConnectionMember,
  type ConnectionPlan,
  type ObjectPlan,
  type PageInfoMember,
  type PageInfoValue,
  pageInfoValues,
  readersOf,
  showsMore,
  type TypenameMember,
} from './plan.ts';

/** A literal, or an expression of type text that is never NULL. */
export type SqlFragment = { readonly text: string } | { readonly sql: string };

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/** In a flat chain, each `||` copies everything before it. In balanced pairs, a string is copied a few times. */
function joined(operands: readonly string[]): string {
  if (operands.length <= 8) return operands.join(' || ');
  const middle = operands.length >> 1;
  return `(${joined(operands.slice(0, middle))}) || (${joined(operands.slice(middle))})`;
}

/** The number of operands is not limited, unlike the number of a function's arguments. */
export function concatenation(fragments: readonly SqlFragment[]): string {
  const operands: string[] = [];
  let text = '';
  for (const fragment of fragments) {
    if ('text' in fragment) {
      text += fragment.text;
      continue;
    }
    if (text !== '') operands.push(quoted(text));
    text = '';
    operands.push(fragment.sql);
  }
  if (text !== '') operands.push(quoted(text));
  return `(${joined(operands)})`;
}

export type NamedJson = readonly [name: string, value: readonly SqlFragment[]];

/** Clients choose the names, so names appear only in the literal string. */
export function objectFragments(members: Iterable<NamedJson>): SqlFragment[] {
  const fragments: SqlFragment[] = [];
  for (const [name, value] of members)
    fragments.push({ text: `${fragments.length === 0 ? '{' : ','}${JSON.stringify(name)}:` }, ...value);
  return [...(fragments.length === 0 ? [{ text: '{' }] : fragments), { text: '}' }];
}

const formatTimestampSql = (value: string) =>
  `to_char(${value} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

/** Writes the JSON of a non-null column, byte for byte like JSON.stringify. */
function presentJson(typeName: string, value: string): SqlFragment[] {
  // UUIDs need no escaping.
  if (typeName === 'ID') return [{ text: '"' }, { sql: `${value}::text` }, { text: '"' }];
  if (typeName === 'DateTime') return [{ text: '"' }, { sql: formatTimestampSql(value) }, { text: '"' }];
  if (typeName === 'Int') return [{ sql: `${value}::text` }];
  return [{ sql: `to_json(${value})::text` }];
}

const orNull = (type: GraphQLOutputType, fragments: SqlFragment[]): SqlFragment[] =>
  isNonNullType(type) ? fragments : [{ sql: `coalesce(${concatenation(fragments)}, 'null')` }];

export function columnJson(type: GraphQLOutputType, value: string): SqlFragment[] {
  const present = getNullableType(type);
  return orNull(type, isListType(present) ? presentJson('', value) : presentJson(String(present), value));
}

/** The id of a computed value may be any string. */
export const computedJson = (type: GraphQLOutputType, value: string): SqlFragment[] =>
  getNullableType(type) === GraphQLID ? orNull(type, presentJson('', value)) : columnJson(type, value);

export function valuesOf<Known extends { readonly name: string; readonly kind: string }>(
  members: readonly (Known | TypenameMember)[],
  value: (member: Known) => readonly SqlFragment[],
): NamedJson[] {
  return members.map((member) => [
    member.name,
    isTypename(member) ? [{ text: JSON.stringify(member.type) }] : value(member),
  ]);
}

export const isTypename = (member: { readonly kind: string }): member is TypenameMember =>
  member.kind === 'typename';

/**
 * In JSON from the database, a tab stands for the opening quote of an unfinished cursor. JSON itself contains no tab,
 * because control characters are escaped (RFC 8259 §7).
 */
const UNFINISHED = '\t';
/** Makes an unfinished cursor as long as a finished one, so that the size of the JSON is known. */
const FILLING = '.'.repeat(CURSOR_CHARACTERS - POSITION_CHARACTERS - 1);

export const CURSOR_JSON_BYTES = CURSOR_CHARACTERS + 2;

/** The checksum of a cursor would cost SQL more than the row, so the service finishes the cursor. */
export const cursorJson = (alias: string, order: ListOrder | undefined): SqlFragment[] => [
  { text: UNFINISHED + FILLING + cursorMark(order) },
  { sql: cursorPositionSql(alias, order) },
  { text: '"' },
];

/** Finishes the cursors, byte for byte like `encodeCursor`. */
export function withCursors(json: string): string {
  let at = json.indexOf(UNFINISHED);
  if (at === -1) return json;
  let text = '';
  let from = 0;
  for (; at !== -1; at = json.indexOf(UNFINISHED, from)) {
    text += `${json.slice(from, at)}"`;
    from = at + 1 + CURSOR_CHARACTERS;
    const mark = at + 1 + FILLING.length;
    text += cursorOfPosition(json.slice(mark + 1, from), json.charAt(mark));
  }
  return text + json.slice(from);
}

type Shown<Member> = Exclude<Member, TypenameMember>;

export interface ConnectionSql {
  readonly plan: ConnectionPlan;
  readonly list: Pick<ListRelation<object>, 'order' | 'parent' | 'rows'>;
  readonly page: PageRange;
  /** The SQL of the rows in the order of reading, with one extra row if the plan shows whether the list continues. */
  readonly rows: string;
  /** Returns SQL of the number of rows in the list; NULL if the list is too long to be counted. */
  count(): string;
  /** Returns a new alias. Clients choose no names in SQL. */
  nextAlias(): string;
  nodeJson(object: ObjectPlan, alias: string): string;
}

/**
 * Reads the rows of a connection once, and materializes them for several members. A scan of materialized rows returns
 * them in their order. If no member reads the rows, PostgreSQL omits them but still takes their parameters.
 */
export function connectionFragments({
  plan,
  list: of,
  page,
  rows,
  count,
  nextAlias,
  nodeJson,
}: ConnectionSql): SqlFragment[] {
  const isChecked = checksRows(of, page);
  const isMaterialized = isChecked || readersOf(plan, page) !== 1;
  const pageInfo = pageInfoValues(plan, page);
  const known = endsOf(page, false);
  const source = isMaterialized ? nextAlias() : `(${rows})`;
  const pageInfoRow = nextAlias();
  /** The rows in the order of the list, without the extra row. */
  function shown(alias: string): string {
    const extra = isChecked || showsMore(plan, page);
    if (!extra && page.backwards !== true) return `${source} AS ${alias}`;
    const cut = `SELECT * FROM ${source} AS s${extra ? ` LIMIT ${page.limit}` : ''}`;
    return `(${inListOrder(of, page, cut)}) AS ${alias}`;
  }

  function list(json: (alias: string) => string): SqlFragment[] {
    const alias = nextAlias();
    const where = isChecked ? ` WHERE ${alias}."${MATCHES}"` : '';
    const sql = `coalesce((SELECT string_agg(${json(alias)}, ',') FROM ${shown(alias)}${where}), '')`;
    return [{ text: '[' }, { sql }, { text: ']' }];
  }

  /** OFFSET is below the cursor, because PostgreSQL would also write the cursors of skipped rows. */
  function cursorAt(position: string): string {
    const alias = nextAlias();
    const row = `(SELECT * FROM ${shown(nextAlias())} ${position}) AS ${alias}`;
    return `coalesce((SELECT ${concatenation(cursorJson(alias, page.order))} FROM ${row}), 'null')`;
  }

  function pageInfoSql(value: PageInfoValue): string {
    if (value === 'hasNextPage' || value === 'hasPreviousPage') {
      const stopped = isChecked ? ` OR EXISTS (SELECT FROM ${source} AS s WHERE s."${IS_LAST}")` : '';
      return `CASE WHEN EXISTS (SELECT FROM ${source} AS s OFFSET ${page.limit})${stopped} THEN 'true' ELSE 'false' END`;
    }
    if (value === 'startCursor') return cursorAt('LIMIT 1');
    return cursorAt(`OFFSET (SELECT greatest(count(*) - 1, 0) FROM ${shown(nextAlias())}) LIMIT 1`);
  }

  function pageInfoValue({ kind }: Shown<PageInfoMember>): SqlFragment[] {
    const isKnown = (kind === 'hasNextPage' || kind === 'hasPreviousPage') && !pageInfo.has(kind);
    return isKnown ? [{ text: `${known[kind]}` }] : [{ sql: `${pageInfoRow}."${kind}"` }];
  }

  function edgeValue(member: Shown<ConnectionEdgeMember>, alias: string): readonly SqlFragment[] {
    return member.kind === 'cursor'
      ? cursorJson(alias, page.order)
      : [{ sql: nodeJson(member.object, alias) }];
  }

  function value(member: Shown<ConnectionMember>): SqlFragment[] {
    if (member.kind === 'totalCount') return [{ sql: `${count()}::text` }];
    if (member.kind === 'nodes') return list((alias) => nodeJson(member.object, alias));
    if (member.kind === 'pageInfo') return objectFragments(valuesOf(member.members, pageInfoValue));
    return list((alias) =>
      concatenation(objectFragments(valuesOf(member.members, (inner) => edgeValue(inner, alias)))),
    );
  }

  const json = objectFragments(valuesOf(plan.members, value));
  const pageInfoColumns = [...pageInfo].map((value) => `${pageInfoSql(value)} AS "${value}"`);
  if (!isMaterialized && pageInfoColumns.length === 0) return json;
  const withPage = isMaterialized ? `WITH ${source} AS MATERIALIZED (${rows}) ` : '';
  // OFFSET keeps PostgreSQL from computing the values again for each alias in the response.
  const from =
    pageInfoColumns.length === 0
      ? ''
      : ` FROM (SELECT ${pageInfoColumns.join(', ')} OFFSET 0) AS ${pageInfoRow}`;
  return [{ sql: `(${withPage}SELECT ${concatenation(json)}${from})` }];
}
