import type { SchemaToolkit } from '../../../src/engine/builder/schema-toolkit.ts';
import { badInput } from '../../../src/platform/errors.ts';
import type { PostTypes } from '../../../src/schema/post/type.ts';

/** The field of `docs/computed-fields.md`, which the product does not have. */
const PREVIEW = { min: 1, max: 1_000, standard: 100 };

/** The length for an argument that may be absent or null. Throws BAD_USER_INPUT. */
function previewLength(length: number | null | undefined): number {
  const characters = length ?? PREVIEW.standard;
  if (characters >= PREVIEW.min && characters <= PREVIEW.max) return characters;
  throw badInput('length', `must be ${PREVIEW.min} to ${PREVIEW.max}.`);
}

/** Adds the field to a schema that is being defined, and one without SQL. */
export function definePreview({ builder }: SchemaToolkit, { Post }: PostTypes): void {
  builder.objectFields(Post, (t) => ({
    preview: t.string({
      args: {
        length: t.arg.int({
          description: `The number of characters, ${PREVIEW.min} to ${PREVIEW.max}; ${PREVIEW.standard} if absent or null.`,
        }),
      },
      columns: ['body'],
      maxCharacters: PREVIEW.max,
      sql: {
        kind: 'value',
        parameters: ({ length }) => ({ length: previewLength(length) }),
        expression: ({ body }, { length }) => `left(${body}, ${length})`,
      },
      description: 'The beginning of the body.',
      resolve: ({ body }, { length }) => [...body].slice(0, previewLength(length)).join(''),
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
