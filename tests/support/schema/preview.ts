import { badInput } from '../../../src/graphql/errors.ts';
import type { Kernel } from '../../../src/graphql/kernel.ts';
import type { PostTypes } from '../../../src/modules/post/type.ts';

/** The field of `docs/computed-fields.md`, which the product does not have. */
const PREVIEW = { min: 1, max: 1_000 };

/** Throws BAD_USER_INPUT. */
function checkLength(length: number): number {
  if (length >= PREVIEW.min && length <= PREVIEW.max) return length;
  throw badInput('length', `must be ${PREVIEW.min} to ${PREVIEW.max}.`);
}

/** Adds the field to a schema that is being defined, and one without SQL. */
export function definePreview({ builder }: Kernel, { Post }: PostTypes): void {
  builder.objectFields(Post, (t) => ({
    preview: t.string({
      args: {
        length: t.arg.int({
          required: true,
          defaultValue: 100,
          description: `The number of characters, ${PREVIEW.min} to ${PREVIEW.max}.`,
        }),
      },
      columns: ['body'],
      maxCharacters: PREVIEW.max,
      edge: {
        kind: 'values',
        parameters: ({ length }) => [checkLength(Number(length))],
        sql: (row, length) => `to_json(left(${row}."body", ${length}))::text`,
      },
      description: 'The beginning of the body.',
      resolve: ({ body }, { length }) => [...body].slice(0, checkLength(length)).join(''),
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
