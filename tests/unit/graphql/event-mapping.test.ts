import { type GraphQLSchema, isObjectType } from 'graphql';
import { expect, it } from 'vitest';
import { getSqlMapping } from '../../../src/engine/queries/plan/plan-field.ts';
import type { EventMapping } from '../../../src/engine/queries/sql-mappings.ts';
import { buildSchema } from '../../../src/schema/schema.ts';

const fieldsOf = (schema: GraphQLSchema) => {
  const type = schema.getSubscriptionType();
  return isObjectType(type) ? Object.values(type.getFields()) : [];
};

it('Every subscription field says which events it shows: without that it would open and stay silent', () => {
  const fields = fieldsOf(buildSchema());
  expect(fields.map(({ name }) => name).sort()).toEqual(['changes', 'postCreated']);
  for (const field of fields) expect(getSqlMapping(field)?.kind).toBe('event');
  // @ts-expect-error
  const silent: EventMapping = { kind: 'event' };
  expect(silent).not.toHaveProperty('filter');
});
