import { expect, it } from 'vitest';
import { builder } from '../../../src/graphql/builder.ts';
import { Node } from '../../../src/graphql/node/interface.ts';
import { buildSchema } from '../../../src/schema.ts';

/** In a file of its own: all schemas of a process are built from the same types. */
it('A type that implements Node and does not say how its nodes are read prevents the start', () => {
  expect(() => buildSchema()).not.toThrow();
  builder.objectRef<{ readonly id: string }>('Unreadable').implement({
    interfaces: [Node],
    description: 'Has no source.',
  });
  expect(() => buildSchema()).toThrow(/Unreadable.*nodeFrom/);
});
