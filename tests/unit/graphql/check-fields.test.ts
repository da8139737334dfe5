import type { FieldMap } from '@pothos/core';
import { describe, expect, it } from 'vitest';
import type { BuilderTypes } from '../../../src/engine/builder/builder.ts';
import type { PostRow } from '../../../src/schema/post/type.ts';
import { defineTypes, schemaOf } from '../../../src/schema/schema.ts';

type Types = PothosSchemaTypes.ExtendDefaultTypes<BuilderTypes>;
type FieldBuilder = PothosSchemaTypes.ObjectFieldBuilder<Types, PostRow>;

/** Why a schema with these fields of `Post` cannot be built. */
function rejectionOf(fields: (t: FieldBuilder) => FieldMap): string {
  const { toolkit, post } = defineTypes();
  toolkit.builder.objectFields(post.Post, fields);
  try {
    schemaOf(toolkit.builder);
    return 'nothing';
  } catch (error) {
    return (error as Error).message;
  }
}

const description = 'A field that is declared wrong.';
const maxCharacters = 100;

describe('A schema is rejected, with what to do, if', () => {
  it('a text has no bound', () => {
    const rejection = rejectionOf((t) => ({ text: t.string({ description, resolve: () => '' }) }));
    expect(rejection).toMatch(/^Post\.text has no "maxCharacters"/);
  });

  it('a list of values has no bound', () => {
    const rejection = rejectionOf((t) => ({ list: t.intList({ description, resolve: () => [] }) }));
    expect(rejection).toMatch(/^Post\.list has no "maxCharacters"/);
  });

  it('SQL reads a column that is not declared', () => {
    const rejection = rejectionOf((t) => ({
      text: t.string({
        description,
        maxCharacters,
        columns: ['title'],
        sql: { kind: 'value', expression: ({ body }) => `left(${body}, 9)` },
        resolve: ({ title }) => title,
      }),
    }));
    expect(rejection).toMatch(
      /^The SQL of Post\.text reads "body" .* declares id, title: add the column to "columns"/,
    );
  });

  it('SQL names its row, or no column of it', () => {
    const ofSql = (sql: (row: object) => string) =>
      rejectionOf((t) => ({
        text: t.string({
          description,
          maxCharacters,
          columns: ['body'],
          sql: { kind: 'value', expression: sql },
          resolve: ({ body }) => body,
        }),
      }));
    expect(ofSql((row) => `${row}."body"`)).toMatch(/^The SQL of Post\.text reads all of it, as a text/);
    expect(ofSql(() => 'body')).toMatch(/^The SQL of Post\.text takes no column from its row/);
  });

  it('an argument is not given to the SQL, or not used by it', () => {
    const rejection = rejectionOf((t) => ({
      text: t.string({
        description,
        maxCharacters,
        args: { length: t.arg.int({ description }) },
        columns: ['body'],
        sql: { kind: 'value', expression: ({ body }) => `left(${body}, 9)` },
        resolve: ({ body }) => body,
      }),
    }));
    expect(rejection).toMatch(/^Post\.text takes length, but its "sql" has no "parameters"/);
    const unused = rejectionOf((t) => ({
      text: t.string({
        description,
        maxCharacters,
        args: { length: t.arg.int({ description }), from: t.arg.int({ description }) },
        columns: ['body'],
        sql: {
          kind: 'value',
          parameters: ({ length, from }) => ({ length: length ?? 9, from: from ?? 0 }),
          expression: ({ body }, { from }) => `substr(${body}, ${from})`,
        },
        resolve: ({ body }) => body,
      }),
    }));
    expect(unused).toMatch(/^The SQL of Post\.text does not use length,/);
  });

  it('a list of timestamps has SQL', () => {
    const rejection = rejectionOf((t) => ({
      instants: t.field({
        type: ['DateTime'],
        description,
        maxCharacters,
        sql: { kind: 'value', expression: ({ id }) => `ARRAY(SELECT now() WHERE ${id} IS NOT NULL)` },
        resolve: () => [],
      }),
    }));
    expect(rejection).toMatch(/^Post\.instants is a list of timestamps/);
  });
});

describe('A schema is not rejected', () => {
  it('for a field that says that nothing bounds it', () => {
    const rejection = rejectionOf((t) => ({
      text: t.string({ description, maxCharacters: Number.POSITIVE_INFINITY, resolve: () => '' }),
    }));
    expect(rejection).toBe('nothing');
  });
});
