import { expect, it } from 'vitest';
import { defineTypes, schemaOf } from '../../../src/schema/schema.ts';

it('A type that implements Node and does not say how its nodes are read prevents the start', () => {
  const { builder, Node } = defineTypes().toolkit;
  builder.objectRef<{ readonly id: string }>('Unreadable').implement({
    interfaces: [Node],
    description: 'Has no source.',
  });
  expect(() => schemaOf(builder)).toThrow(/Unreadable.*builder\.node/);
});
