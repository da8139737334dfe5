import { endsOf, type Page } from '../pagination/arguments.ts';
import type { ListEdge } from '../read/entity.ts';
import { inListOrder } from '../read/page-statement.ts';
import { concatenation, cursorJson, objectPieces, type Piece, valuesOf } from './json-text.ts';
import type {
  ConnectionEdgeMember,
  ConnectionMember,
  ConnectionPlan,
  ObjectPlan,
  PageInfoMember,
  TypenameMember,
} from './plan.ts';
import { type PageFact, pageFacts, readersOf, showsMore } from './plan-connection.ts';

type Shown<Member> = Exclude<Member, TypenameMember>;

export interface ConnectionSql {
  readonly plan: ConnectionPlan;
  readonly list: Pick<ListEdge<object>, 'order'>;
  readonly page: Page;
  /** The query of the rows in the order of reading, one more than the page has if the plan shows whether the list goes on. */
  readonly rows: string;
  /** The name of a row in SQL, each time another. Clients choose no names in SQL. */
  nextAlias(): string;
  /** The JSON of the node in the row under `alias`. */
  nodeJson(object: ObjectPlan, alias: string): string;
}

/**
 * The JSON of a connection. Its rows are read once, and kept if several members are made from them. A scan of
 * kept rows returns them in their order. If no member is, PostgreSQL leaves the rows out, but still takes their
 * parameters.
 */
export function connectionPieces({
  plan,
  list: of,
  page,
  rows,
  nextAlias,
  nodeJson,
}: ConnectionSql): Piece[] {
  const kept = readersOf(plan, page) !== 1;
  const facts = pageFacts(plan, page);
  const known = endsOf(page, false);
  const source = kept ? nextAlias() : `(${rows})`;
  const factsRow = nextAlias();
  /** The rows of the page in the order of the list: without the row that tells whether it goes on. */
  function shown(alias: string): string {
    const extra = showsMore(plan, page);
    if (!extra && page.backwards !== true) return `${source} AS ${alias}`;
    const cut = `SELECT * FROM ${source} AS s${extra ? ` LIMIT ${page.limit}` : ''}`;
    return `(${inListOrder(of, page, cut)}) AS ${alias}`;
  }

  function list(json: (alias: string) => string): Piece[] {
    const alias = nextAlias();
    const sql = `coalesce((SELECT string_agg(${json(alias)}, ',') FROM ${shown(alias)}), '')`;
    return [{ text: '[' }, { sql }, { text: ']' }];
  }

  /** OFFSET is below the cursor: it would be written for the skipped rows too. */
  function cursorAt(position: string): string {
    const alias = nextAlias();
    const row = `(SELECT * FROM ${shown(nextAlias())} ${position}) AS ${alias}`;
    return `coalesce((SELECT ${concatenation(cursorJson(alias))} FROM ${row}), 'null')`;
  }

  function factSql(fact: PageFact): string {
    if (fact === 'hasNextPage' || fact === 'hasPreviousPage')
      return `CASE WHEN EXISTS (SELECT FROM ${source} AS s OFFSET ${page.limit}) THEN 'true' ELSE 'false' END`;
    if (fact === 'startCursor') return cursorAt('LIMIT 1');
    return cursorAt(`OFFSET (SELECT greatest(count(*) - 1, 0) FROM ${shown(nextAlias())}) LIMIT 1`);
  }

  function pageInfoValue({ kind }: Shown<PageInfoMember>): Piece[] {
    const isKnown = (kind === 'hasNextPage' || kind === 'hasPreviousPage') && !facts.has(kind);
    return isKnown ? [{ text: `${known[kind]}` }] : [{ sql: `${factsRow}."${kind}"` }];
  }

  function edgeValue(member: Shown<ConnectionEdgeMember>, alias: string): readonly Piece[] {
    return member.kind === 'cursor' ? cursorJson(alias) : [{ sql: nodeJson(member.object, alias) }];
  }

  function value(member: Shown<ConnectionMember>): Piece[] {
    if (member.kind === 'nodes') return list((alias) => nodeJson(member.object, alias));
    if (member.kind === 'pageInfo') return objectPieces(valuesOf(member.members, pageInfoValue));
    return list((alias) =>
      concatenation(objectPieces(valuesOf(member.members, (inner) => edgeValue(inner, alias)))),
    );
  }

  const json = objectPieces(valuesOf(plan.members, value));
  const factColumns = [...facts].map((fact) => `${factSql(fact)} AS "${fact}"`);
  if (!kept && factColumns.length === 0) return json;
  const keeping = kept ? `WITH ${source} AS MATERIALIZED (${rows}) ` : '';
  // With OFFSET, facts are not copied to each of the names that they have in the response.
  const from =
    factColumns.length === 0 ? '' : ` FROM (SELECT ${factColumns.join(', ')} OFFSET 0) AS ${factsRow}`;
  return [{ sql: `(${keeping}SELECT ${concatenation(json)}${from})` }];
}
