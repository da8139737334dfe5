import { getNamedType, isNonNullType, isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { permissionsOf } from '../../src/engine/core/permissions.ts';
import { buildSchema } from '../../src/schema/schema.ts';

const schema = buildSchema();

describe('The fields of Mutation', () => {
  it('may none of them be null: an error in one leaves no data, which undoes the whole operation', () => {
    // A nullable one would have to undo its own writes and leave the others' (contract: mutations): the unit of work
    // has no part that can be undone by itself.
    const fields = Object.values(schema.getMutationType()?.getFields() ?? {});
    expect(fields.length).toBeGreaterThan(0);
    expect(
      fields.filter(({ type }) => !isNonNullType(type)).map(({ name }) => name),
      'Make these fields non-null: throw an ApiError instead of returning null',
    ).toEqual([]);
  });
});

describe('A secret that is shown once', () => {
  it('is found behind fields for sessions alone, so that a session can be named that may see it again', () => {
    const fields = Object.values(schema.getTypeMap()).flatMap((type) =>
      isObjectType(type) ? Object.values(type.getFields()).map((field) => ({ type, field })) : [],
    );
    const holders = new Set(
      fields.filter(({ field }) => permissionsOf(field).secret).map(({ type }) => type.name),
    );
    expect([...holders].toSorted()).toEqual(['AccountLink', 'CreatedApiKey']);
    const ways = fields.filter(({ field }) => holders.has(getNamedType(field.type).name));
    expect(ways.length).toBeGreaterThan(0);
    expect(
      ways
        .filter(({ field }) => permissionsOf(field).session !== true)
        .map(({ type, field }) => `${type.name}.${field.name}`),
      'Set "session: true" on these fields',
    ).toEqual([]);
  });
});
