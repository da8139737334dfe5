import { escapeIdentifier } from 'pg';
import { z } from 'zod';
import type { Endpoint } from './endpoints.ts';

/** Migrations write the history table of Prisma Migrate, so a copy never includes it. */
const HISTORY_TABLE = '_prisma_migrations';

/** Types have their internal names, which no setting changes. */
export const tableForm = z.object({
  name: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
});
/** `last` is null if the sequence is unused. */
export const sequenceForm = z.object({
  name: z.string(),
  last: z
    .string()
    .regex(/^-?\d+$/)
    .nullable(),
});

export type Table = Readonly<z.infer<typeof tableForm>>;
export type Sequence = Readonly<z.infer<typeof sequenceForm>>;

export interface ReferringTable extends Table {
  readonly refersTo: readonly string[];
}

/** Generated columns cannot be written, so they are left out. */
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

/** Parts of an extension do not count as content. */
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

/**
 * @returns the tables, each after the tables that it refers to.
 * @throws if tables refer to each other.
 */
export function sortByReference(tables: readonly ReferringTable[]): ReferringTable[] {
  const ordered: ReferringTable[] = [];
  const waiting = new Map(tables.map((each) => [each.name, each]));
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter(
      ({ name, refersTo }) => !refersTo.some((other) => other !== name && waiting.has(other)),
    );
    if (ready.length === 0)
      throw new Error(`the tables ${[...waiting.keys()].join(', ')} refer to each other: none can be first`);
    ordered.push(...ready);
    for (const { name } of ready) waiting.delete(name);
  }
  return ordered;
}

/** @returns the tables of the schema, each after the tables that it refers to. */
export async function readTables(endpoint: Endpoint, schema: string): Promise<Table[]> {
  const tables = sortByReference(await endpoint.rows<ReferringTable>(TABLES, [schema]));
  return tables.map(({ name, columns }) => ({ name, columns }));
}

export const readSequences = (endpoint: Endpoint, schema: string): Promise<Sequence[]> =>
  endpoint.rows<Sequence>(SEQUENCES, [schema]);

/**
 * @returns an object in the schema, such as `table "posts"`, or undefined if the schema is empty or missing.
 */
export async function findContent(endpoint: Endpoint, schema: string): Promise<string | undefined> {
  return (await endpoint.rows<{ what: string }>(CONTENT, [escapeIdentifier(schema)]))[0]?.what;
}

export const qualify = (schema: string, name: string): string =>
  `${escapeIdentifier(schema)}.${escapeIdentifier(name)}`;
export const listColumns = ({ columns }: Table): string =>
  columns.map(({ name }) => escapeIdentifier(name)).join(', ');
