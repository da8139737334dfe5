import { escapeIdentifier } from 'pg';
import { z } from 'zod';
import type { Side } from './side.ts';

/** The table in which Prisma Migrate keeps its history. It is the migrations' own, and never copied. */
export const HISTORY_TABLE = '_prisma_migrations';

const column = z.object({ name: z.string(), type: z.string() });
const table = z.object({
  name: z.string(),
  columns: z.array(column),
  /** The tables that its foreign keys refer to. */
  refersTo: z.array(z.string()),
});

/** A table, as far as a copy needs to know it. */
export type Table = Readonly<z.infer<typeof table>>;

const sequence = z.object({ name: z.string(), last: z.string().nullable() });

/** A sequence, and the last number that it gave; null if it gave none. */
export type Sequence = Readonly<z.infer<typeof sequence>>;

/** Generated columns are left out: nobody can write them. Types by their own names, which no setting changes. */
const TABLES = `SELECT c.relname::text AS name,
  (SELECT coalesce(json_agg(json_build_object('name', a.attname, 'type', t.typname || CASE WHEN a.atttypmod < 0 THEN '' ELSE '(' || a.atttypmod || ')' END) ORDER BY a.attname), '[]')
   FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
   WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns,
  (SELECT coalesce(json_agg(DISTINCT r.relname), '[]')
   FROM pg_catalog.pg_constraint k JOIN pg_catalog.pg_class r ON r.oid = k.confrelid
   WHERE k.conrelid = c.oid AND k.contype = 'f') AS "refersTo"
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind = 'r' AND c.relname <> '${HISTORY_TABLE}' ORDER BY c.relname`;

const SEQUENCES = `SELECT c.relname::text AS name, pg_sequence_last_value(c.oid)::text AS last
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind = 'S' ORDER BY c.relname`;

/** Relations, enumerations and functions, but for what belongs to an extension. */
const CONTENT = `SELECT what FROM (
  SELECT c.oid, 'pg_class'::regclass::oid AS class,
    CASE c.relkind WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' ELSE 'table' END || ' "' || c.relname || '"' AS what,
    CASE c.relkind WHEN 'S' THEN 3 WHEN 'v' THEN 2 ELSE 1 END AS rank
  FROM pg_catalog.pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = ANY ('{r,p,f,v,m,S}')
  UNION ALL SELECT t.oid, 'pg_type'::regclass, 'type "' || t.typname || '"', 4
  FROM pg_catalog.pg_type t WHERE t.typnamespace = to_regnamespace($1) AND t.typtype = 'e'
  UNION ALL SELECT p.oid, 'pg_proc'::regclass, 'function "' || p.proname || '"', 5
  FROM pg_catalog.pg_proc p WHERE p.pronamespace = to_regnamespace($1)
) AS found
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = class AND d.objid = oid AND d.deptype = 'e')
ORDER BY rank, what LIMIT 1`;

/** The tables, each after those that it refers to. Throws if some refer to each other: no order would do. */
export function inOrder(tables: readonly Table[]): Table[] {
  const ordered: Table[] = [];
  const waiting = new Map(tables.map((each) => [each.name, each]));
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(({ refersTo }) => !refersTo.some((name) => waiting.has(name)));
    if (ready.length === 0)
      throw new Error(`the tables ${[...waiting.keys()].join(', ')} refer to each other: none can be first`);
    ordered.push(...ready);
    for (const { name } of ready) waiting.delete(name);
  }
  return ordered;
}

/** The tables of the schema, each after those that it refers to. */
export async function tablesOf(side: Side, schema: string): Promise<Table[]> {
  return inOrder(table.array().parse(await side.rows(TABLES, [schema])));
}

/** The sequences of the schema. */
export async function sequencesOf(side: Side, schema: string): Promise<Sequence[]> {
  return sequence.array().parse(await side.rows(SEQUENCES, [schema]));
}

/** Something that the schema holds, such as `table "posts"`; undefined if it is empty or does not exist. */
export async function contentOf(side: Side, schema: string): Promise<string | undefined> {
  const [found] = await side.rows<{ what: string }>(CONTENT, [escapeIdentifier(schema)]);
  return found?.what;
}
