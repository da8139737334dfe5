import type { SchemaToolkit } from '../../../src/engine/builder/schema-toolkit.ts';
import { badInput } from '../../../src/platform/errors.ts';
import type { PostTypes } from '../../../src/schema/post/type.ts';

/** A computed field as `docs/contributing/recipes/computed-field.md` adds one, under a name that no guide uses. */
const OPENING = { min: 1, max: 1_000, standard: 100 };

/** The length for an argument that may be absent or null. Throws BAD_USER_INPUT. */
function openingLength(length: number | null | undefined): number {
  const characters = length ?? OPENING.standard;
  if (characters >= OPENING.min && characters <= OPENING.max) return characters;
  throw badInput('length', `must be ${OPENING.min} to ${OPENING.max}.`);
}

/** Adds the field to a schema that is being defined, and one without SQL. */
export function defineOpening({ builder }: SchemaToolkit, { Post }: PostTypes): void {
  builder.objectFields(Post, (t) => ({
    opening: t.string({
      args: {
        length: t.arg.int({
          description: `The number of characters, ${OPENING.min} to ${OPENING.max}; ${OPENING.standard} if absent or null.`,
        }),
      },
      columns: ['body'],
      maxCharacters: OPENING.max,
      sql: {
        kind: 'value',
        parameters: ({ length }) => ({ length: openingLength(length) }),
        expression: ({ body }, { length }) => `left(${body}, ${length})`,
      },
      description: 'The beginning of the body.',
      resolve: ({ body }, { length }) => [...body].slice(0, openingLength(length)).join(''),
    }),
    /** The naive version: right, but each query that selects it is left to the loaders. */
    shout: t.string({
      columns: ['title'],
      maxCharacters: 400,
      description: 'The title in capitals.',
      resolve: ({ title }) => title.toUpperCase(),
    }),
  }));
}
