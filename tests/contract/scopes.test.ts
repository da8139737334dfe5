import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { ANONYMOUS_SCOPES, SCOPES, scopesOfRole, scopeWords } from '../../src/auth/scopes.ts';
import { getRequiredScopes } from '../../src/engine/core/permissions.ts';
import { nodeTypes } from '../../src/engine/queries/node-type.ts';
import { buildSchema } from '../../src/schema/schema.ts';

const schema = buildSchema();
const PERMISSIONS = readFileSync(join(import.meta.dirname, '../../docs/reference/permissions.md'), 'utf8');

/** The scopes that a type or a field asks for. */
function askedFor(): ReadonlySet<string> {
  const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type) ? Object.values(type.getFields()) : [],
  );
  return new Set([
    ...nodeTypes(schema).map(({ scope }) => scope),
    ...fields.flatMap((field) => getRequiredScopes(field)),
  ]);
}

describe('The scopes of src/auth/scopes.ts', () => {
  it('are each asked for by a field', () => {
    const asked = askedFor();
    const unused = SCOPES.filter((scope) => !asked.has(scope));
    expect(unused, 'name it in the field that needs it (`scope: …` in src/schema), or delete it').toEqual([]);
  });

  it.each(SCOPES)('%s says what it allows, in words for the consent page', (scope) => {
    const remedy = 'src/auth/scopes.ts: write a sentence with a capital letter and without a full stop';
    for (const role of ['member', 'admin'] as const)
      expect(scopeWords(scope, role), remedy).toMatch(/^\p{Lu}\p{Ll}+ .*[^.\s]$/u);
  });

  it('let callers without credentials read only, and what every member may', () => {
    const more = ANONYMOUS_SCOPES.filter(
      (scope) => !scope.endsWith(':read') || !scopesOfRole('member').includes(scope),
    );
    expect(more, 'take `anonymousRead` from it in src/auth/scopes.ts').toEqual([]);
  });

  it('are those that docs/reference/permissions.md lists', () => {
    const [, listed = ''] = /^Scopes: (.*?)\. Roles:/ms.exec(PERMISSIONS) ?? [];
    const names = [...listed.matchAll(/`([^`]+)`/g)].map(([, name]) => name).sort();
    expect(names, 'add the scope to docs/reference/permissions.md, or remove it there').toEqual(
      [...SCOPES].sort(),
    );
  });
});
