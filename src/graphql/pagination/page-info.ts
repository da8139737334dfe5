import type { Builder } from '../builder.ts';
import { encodeCursor, type Position } from './cursor.ts';
import type { Slice } from './slice.ts';

export const definePageInfo = (builder: Builder) =>
  builder.objectRef<Slice<Position>>('PageInfo').implement({
    description: 'The position of a page in a connection.',
    fields: (t) => ({
      hasNextPage: t.exposeBoolean('hasNextPage', {
        description:
          'Whether there are items after this page. Going backwards, true if and only if `before` was given.',
      }),
      hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
        description:
          'Going forwards, true if and only if `after` was given. Going backwards, whether there are items before this page.',
      }),
      startCursor: t.string({
        nullable: true,
        description: 'The cursor of the first item, for `before`; null on an empty page.',
        resolve: ({ rows: [first] }) => (first === undefined ? null : encodeCursor(first)),
      }),
      endCursor: t.string({
        nullable: true,
        description: 'The cursor of the last item, for `after`; null on an empty page.',
        resolve: ({ rows }) => {
          const last = rows.at(-1);
          return last === undefined ? null : encodeCursor(last);
        },
      }),
    }),
  });
