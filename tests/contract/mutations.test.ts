import { isNonNullType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { buildSchema } from '../../src/schema.ts';

describe('The fields of Mutation', () => {
  it('may none of them be null: an error in one leaves no data, which undoes the whole operation', () => {
    // A nullable one would have to undo its own writes and leave the others' (contract section 9): the unit of work
    // has no part that can be undone by itself.
    const fields = Object.values(buildSchema().getMutationType()?.getFields() ?? {});
    expect(fields.length).toBeGreaterThan(0);
    expect(fields.filter(({ type }) => !isNonNullType(type)).map(({ name }) => name)).toEqual([]);
  });
});
