import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

const FOLDER = join(import.meta.dirname, '../../prisma/migrations');
/** The first has no version before it. */
const [, ...migrations] = globSync('*/migration.sql', { cwd: FOLDER }).sort();

/** Those that contract what no version in use needs any more (docs/operate/operations.md), with the reason. */
const CONTRACTIONS: Readonly<Record<string, string>> = {
  '20261126002000_changes': 'no version that was released writes or reads the events of posts alone',
  '20261126001000_comments_old_index': 'an index on comments that begins like it has its place',
  '20261130060500_post_slugs_index':
    'versions without slugs leave the column null, and a unique index accepts any number of nulls',
  '20261126003000_events_by_time':
    'retention finds the oldest events by their place in the log, more slowly in older versions',
};

/** What the version before does not notice, of a table that it uses. */
const EXPANSIONS = [
  /^CREATE (?:TABLE|INDEX|FUNCTION|OR REPLACE FUNCTION|TYPE|SEQUENCE)\b/,
  // One that comes before could reject or change what the version before writes.
  /^CREATE TRIGGER "\w+" AFTER\b/,
  /^INSERT INTO\b/,
  /^COMMENT ON\b/,
  // What is stored is put right.
  /^(?:UPDATE|DELETE FROM)\b/,
  /^SELECT set_config\(/,
  /^(?:CREATE|DROP) FUNCTION pg_temp\./,
];
const ACTIONS = [
  // Rows that the version before inserts have no value for it.
  /^ADD COLUMN +"\w+" (?!.*\bNOT NULL\b(?!.*\bDEFAULT\b))(?!.*\b(?:UNIQUE|REFERENCES|CHECK|PRIMARY KEY)\b)/,
  /^ALTER COLUMN +"\w+" DROP NOT NULL$/,
  /^ALTER COLUMN +"\w+" SET DEFAULT\b/,
];

/** The statements of a migration, without comments and bodies of functions. */
function statementsOf(sql: string): string[] {
  return sql
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$\$.*?\$\$/gs, "''")
    .split(';')
    .map((statement) => statement.replaceAll(/\s+/g, ' ').trim())
    .filter((statement) => statement !== '');
}

/** Columns that the version before leaves null, and unique indexes accept any number of nulls. */
const addedColumns = (statements: readonly string[]) =>
  statements.flatMap((it) => {
    const [, table = '', actions = ''] = /^ALTER TABLE "?(\w+)"? (.*)$/.exec(it) ?? [];
    return [...actions.matchAll(/\bADD COLUMN +"(\w+)"(?![^,]*\bDEFAULT\b)/g)].map(
      ([, column]) => `${table}.${column}`,
    );
  });

/**
 * The statements of a migration that could break the version before. `earlier` is the SQL of the migration that the
 * index of a migration `…_index` belongs to.
 */
function breaking(sql: string, earlier = ''): string[] {
  const statements = statementsOf(sql);
  const made = new Set(statements.flatMap((it) => /^CREATE TABLE "?(\w+)/.exec(it)?.[1] ?? []));
  const added = new Set(addedColumns([...statementsOf(earlier), ...statements]));
  return statements.filter((statement) => {
    const [, on, column] = /^CREATE UNIQUE INDEX .*? ON "?(\w+)"? ?\("(\w+)"/.exec(statement) ?? [];
    if (added.has(`${on}.${column}`)) return false;
    const table = /^(?:ALTER TABLE|CREATE UNIQUE INDEX .*? ON|CREATE TRIGGER .*? ON) "?(\w+)/.exec(
      statement,
    )?.[1];
    if (table !== undefined && made.has(table)) return false;
    const altered = /^ALTER TABLE "?\w+"? (.*)$/.exec(statement)?.[1];
    if (altered === undefined) return !EXPANSIONS.some((allowed) => allowed.test(statement));
    const actions = altered.split(/, (?=(?:ADD|ALTER|DROP|RENAME)\b)/);
    return !actions.every((action) => ACTIONS.some((allowed) => allowed.test(action)));
  });
}

const readMigration = (file: string) => readFileSync(join(FOLDER, file), 'utf8');
const nameOf = (file: string) => dirname(file).replace(/^\d+_/, '');

/** The migration that adds the columns of an index has the name of the index's migration without `_index`. */
function readBefore(file: string): string {
  const found = migrations.find((one) => `${nameOf(one)}_index` === nameOf(file));
  return found === undefined ? '' : readMigration(found);
}

describe('prisma/migrations', () => {
  const expanding = migrations.filter((file) => CONTRACTIONS[basename(dirname(file))] === undefined);
  it.each(expanding.map((file) => [basename(dirname(file)), file] as const))(
    '%s lets the version before go on',
    (_name, file) => {
      expect(breaking(readMigration(file), readBefore(file))).toEqual([]);
    },
  );

  it.each([
    'ALTER TABLE "users" DROP COLUMN "name";',
    'ALTER TABLE "users" RENAME COLUMN "name" TO "title";',
    'ALTER TABLE "users" ADD COLUMN "age" INTEGER NOT NULL;',
    'ALTER TABLE "users" ADD COLUMN "a" TEXT, ALTER COLUMN "name" SET NOT NULL;',
    'ALTER TABLE "users" ALTER COLUMN "name" SET DATA TYPE VARCHAR(10);',
    'ALTER TABLE "users" ADD CONSTRAINT "short" CHECK (length("name") < 10);',
    'CREATE UNIQUE INDEX "users_name_key" ON "users"("name");',
    'DROP TABLE "users";',
    'DROP INDEX "users_email_key";',
    'TRUNCATE "events";',
    'ALTER TABLE "users" ADD COLUMN "nick" TEXT UNIQUE;',
    'ALTER TABLE "posts" ADD COLUMN "editor" UUID REFERENCES "users"("id");',
    'CREATE TRIGGER "t" BEFORE INSERT ON "posts" FOR EACH ROW EXECUTE FUNCTION f();',
    // All rows of the version before have one value.
    `ALTER TABLE "users" ADD COLUMN "nick" TEXT DEFAULT 'x'; CREATE UNIQUE INDEX "k" ON "users"("nick");`,
  ])('would be stopped with %s', (sql) => {
    expect(breaking(sql)).toHaveLength(1);
  });

  it('may have a unique index on a column that the migration before has added, in a migration for the index', () => {
    const index = 'CREATE UNIQUE INDEX CONCURRENTLY "users_nick_key" ON "users"("nick");';
    expect(breaking(index, 'ALTER TABLE "users" ADD COLUMN "nick" TEXT;')).toEqual([]);
    expect(breaking(index, 'ALTER TABLE "users" ADD COLUMN "nick" TEXT DEFAULT \'x\';')).toHaveLength(1);
    expect(breaking(index)).toHaveLength(1);
  });

  it.each([
    'ALTER TABLE "users" ADD COLUMN "age" INTEGER;',
    'ALTER TABLE "users" ADD COLUMN "age" INTEGER NOT NULL DEFAULT 0;',
    'CREATE TABLE "a" ("id" UUID); CREATE UNIQUE INDEX "a_key" ON "a"("id"); ALTER TABLE "a" ADD CONSTRAINT "x" CHECK (true);',
    'CREATE INDEX "users_name_idx" ON "users"("name");',
    'ALTER TABLE "users" ADD COLUMN "nick" TEXT; CREATE UNIQUE INDEX "users_nick_key" ON "users"("nick");',
  ])('may have %s', (sql) => {
    expect(breaking(sql)).toEqual([]);
  });
});
