import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { ExportSection } from '../../src/auth/data-export.ts';
import type { Queryable } from '../../src/database/statement.ts';
import { EXPORT_SECTIONS } from '../../src/features/features.ts';
import { ACCOUNT_CONTENT, DELETIONS } from '../../src/schema/account-content.ts';

const SCHEMA = readFileSync(join(import.meta.dirname, '../../prisma/schema.prisma'), 'utf8');

/** The models, each with its table and with those that it refers to. */
const models = [...SCHEMA.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)].map(([, name = '', body = '']) => ({
  name,
  table: /@@map\("(\w+)"\)/.exec(body)?.[1] ?? name,
  // An audit entry outlives the account that it names.
  isOfAccount: /@map\("account_id"\)/.test(body),
  /** True if its rows keep the account from being deleted. */
  keepsAccount: /@relation\(fields: \[\w+\], references: \[id\], onDelete: Restrict\)/.test(
    body.match(/^ +\w+ +User +.*$/m)?.[0] ?? '',
  ),
  /** The columns of its table. A relation and a list of rows have none. */
  columns: [...body.matchAll(/^ +(\w+) +(?:String|Int|Float|Boolean|DateTime|Json|Bytes|Role)\b.*$/gm)].map(
    ([line, field = '']) => /@map\("(\w+)"\)/.exec(line)?.[1] ?? field,
  ),
  refersTo: [...body.matchAll(/^ +\w+ +(\w+)\?? +@relation\(fields:/gm)].map(([, model = '']) => model),
}));

/** Whatever depends on accounts, directly or through something else. */
function dependants(): Set<string> {
  const found = new Set(['User']);
  for (let size = 0; size !== found.size; ) {
    size = found.size;
    for (const model of models)
      if (model.isOfAccount || model.refersTo.some((other) => found.has(other))) found.add(model.name);
  }
  return found;
}

it('user export has every table that refers to accounts', () => {
  const found = dependants();
  const tables = models.filter(({ name }) => found.has(name) && name !== 'User').map(({ table }) => table);
  expect(tables).toEqual(expect.arrayContaining(['tags', 'sessions', 'oauth_records']));
  expect(
    EXPORT_SECTIONS.flatMap(({ tables }) => tables).sort(),
    'Add a section for each missing table: for content to ACCOUNT_CONTENT in src/schema/account-content.ts, for a feature to its `exportSections`, otherwise to src/auth/data-export.ts.',
  ).toEqual(tables.sort());
});

/** The account itself, whose content is exported. */
const OWNER = 'author_id';
/** The other columns of content that an export leaves out, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  'tags.post_id': 'the post that the tags are shown with',
  'tags.created_at': 'that of the post',
};

/** The SQL that reads a section. */
async function readSql(section: ExportSection): Promise<string> {
  let sql = '';
  const db: Queryable = {
    query: async ({ text }) => {
      sql += text;
      return [];
    },
  };
  await section.rows(db, '').next();
  return sql;
}

it('user export has every column of the content', async () => {
  for (const section of ACCOUNT_CONTENT.exportSections) {
    const sql = await readSql(section);
    const columns = models
      .filter(({ table }) => section.tables.includes(table))
      .flatMap(({ table, columns: names }) => names.map((name) => ({ place: `${table}.${name}`, name })));
    expect(columns.length).toBeGreaterThan(3);
    const missing = columns.filter(
      ({ place, name }) =>
        name !== OWNER && !(place in LEFT_OUT) && !new RegExp(`\\b\\w\\.${name}\\b`).test(sql),
    );
    expect(
      missing.map(({ place }) => place),
      `Add each column to \`columns\` of the section "${section.name}" in src/schema/account-content.ts, or to LEFT_OUT of this test with the reason`,
    ).toEqual([]);
  }
});

it('user delete has every table whose rows keep the account', () => {
  const tables = models.filter(({ keepsAccount }) => keepsAccount).map(({ table }) => table);
  expect(tables).toEqual(expect.arrayContaining(['posts', 'comments']));
  expect(
    [...new Set(DELETIONS.map(({ table }) => table))].sort(),
    'Add a step for each missing table to DELETIONS in src/schema/account-content.ts.',
  ).toEqual(tables.sort());
});

it('user export has a separate name for each section', () => {
  const names = ['account', ...EXPORT_SECTIONS.map(({ name }) => name)];
  expect(new Set(names).size).toBe(names.length);
});
