import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { STORED } from '../../src/features/features.ts';
import { DELETIONS } from '../../src/schema/account-content.ts';

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
    STORED.flatMap((part) => part.tables).sort(),
    'Add a storedPart for each missing table: for content to ACCOUNT_CONTENT in src/schema/account-content.ts, for a feature to its `stored`, otherwise to src/auth/data-export.ts.',
  ).toEqual(tables.sort());
});

it('user delete has every table whose rows keep the account', () => {
  const tables = models.filter(({ keepsAccount }) => keepsAccount).map(({ table }) => table);
  expect(tables).toEqual(expect.arrayContaining(['posts', 'comments']));
  expect(
    [...new Set(DELETIONS.map(({ table }) => table))].sort(),
    'Add a step for each missing table to DELETIONS in src/schema/account-content.ts.',
  ).toEqual(tables.sort());
});

it('user export has a name of its own for each part', () => {
  const names = ['account', ...STORED.map(({ name }) => name)];
  expect(new Set(names).size).toBe(names.length);
});
