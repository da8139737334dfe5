import { type ArgumentNode, Kind } from 'graphql';
import { type Statement, statement } from '../../database/statement.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import type { Context } from '../../engine/core/context.ts';
import { checkText, lengthOf } from '../../engine/core/input.ts';
import { connectionPage, DEFAULT_LIMIT, endsOf, MAX_LIMIT } from '../../engine/queries/pagination.ts';
import type { TagCount } from '../../generated/tables.ts';
import { badInput, quoteValue } from '../../platform/errors.ts';
import { CONTENT_START, FRAME_BYTES, opaqueBytes, opaqueText } from '../../platform/ids.ts';
import type { ContentLimits } from '../content-limits.ts';

type TagRow = Pick<TagCount, 'name' | 'postCount'>;

/** Positions in the two orders differ. */
const MARKS = { count: 1, name: 2 } as const;
type TagOrder = keyof typeof MARKS;

const COUNT_BYTES = 4;
const NAME_START = CONTENT_START + 1 + COUNT_BYTES;

function encodeTagCursor({ name, postCount }: TagRow, order: TagOrder): string {
  const text = Buffer.from(name);
  const bytes = Buffer.alloc(FRAME_BYTES + 1 + COUNT_BYTES + text.length);
  bytes.writeUInt8(MARKS[order], CONTENT_START);
  bytes.writeUInt32BE(postCount, CONTENT_START + 1);
  text.copy(bytes, NAME_START);
  return opaqueText(bytes);
}

/** @throws {ApiError} BAD_USER_INPUT */
function decodeTagCursor(cursor: string, order: TagOrder, rule: ContentLimits['post']['tag']): TagRow {
  const bytes = opaqueBytes(cursor);
  if (bytes === undefined || bytes.length <= NAME_START || bytes[CONTENT_START] !== MARKS[order])
    throw badInput(
      'after',
      `must be a cursor of an earlier response in the same order, but is ${quoteValue(cursor)}.`,
    );
  const name = bytes.toString('utf8', NAME_START, bytes.length - (FRAME_BYTES - CONTENT_START));
  return { name: checkText('after', name, rule), postCount: bytes.readUInt32BE(CONTENT_START + 1) };
}

/** With a prefix, a page by number of posts examines this many tags. */
const MAX_EXAMINED = 1_000;

interface ExaminedTag extends TagRow {
  readonly matches: boolean;
}

const COLUMNS = 'name, post_count AS "postCount"';
/** Parameters: the prefix, the cursor's count and name or nulls, and the number of tags to read. */
const byCount = (label: string, after: string): Statement<ExaminedTag> =>
  statement(label, `SELECT ${COLUMNS}, starts_with(name, $1) AS matches FROM (${after}) AS t`);
const ORDER = 'ORDER BY post_count DESC, name LIMIT $4::int';
const FIRST_BY_COUNT = byCount(
  'tags_by_count',
  `SELECT * FROM tag_counts WHERE $2::int IS NULL AND $3::text IS NULL ${ORDER}`,
);
/** Each part reads one range of the index. */
const NEXT_BY_COUNT = byCount(
  'tags_by_count_after',
  `SELECT * FROM ((SELECT * FROM tag_counts WHERE post_count = $2::int AND name > $3 ORDER BY name LIMIT $4::int)
     UNION ALL (SELECT * FROM tag_counts WHERE post_count < $2::int ${ORDER})) AS next ${ORDER}`,
);
/** No tag with the prefix has a character above this one in all of its places. */
const BY_NAME: Statement<ExaminedTag> = statement(
  'tags_by_name',
  `SELECT ${COLUMNS}, true AS matches FROM tag_counts
   WHERE name >= $1 AND name < $1 || repeat(chr(1114111), 51) AND name > coalesce($3::text, '') AND $2::int IS DISTINCT FROM -1
   ORDER BY name LIMIT $4::int`,
);

interface TagsInput {
  readonly prefix?: string | null | undefined;
  readonly orderBy?: TagOrder | null | undefined;
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
}

interface TagPage {
  readonly rows: readonly TagRow[];
  readonly order: TagOrder;
  readonly end: TagRow | undefined;
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

async function readTagPage(
  { prefix, orderBy, first, after }: TagsInput,
  { db }: Context,
  { tag }: ContentLimits['post'],
): Promise<TagPage> {
  const order = orderBy ?? 'count';
  const begin = prefix == null ? '' : checkText('prefix', prefix, { ...tag, min: 0 });
  const { limit } = connectionPage({ first });
  const cursor = after == null ? undefined : decodeTagCursor(after, order, tag);
  const most = order === 'count' && begin !== '' ? MAX_EXAMINED : limit + 1;
  const byOrder = cursor === undefined ? FIRST_BY_COUNT : NEXT_BY_COUNT;
  const values = [begin, cursor?.postCount ?? null, cursor?.name ?? null, most];
  const examined = await db.query(order === 'name' ? BY_NAME : byOrder, values);
  const matching = examined.filter(({ matches }) => matches);
  const rows = matching.slice(0, limit);
  const isCut = matching.length > limit;
  return {
    ...{ rows, order },
    end: isCut ? rows.at(-1) : examined.at(-1),
    ...endsOf(
      { limit, offset: 0, ...(cursor && { after: { at: new Date(0), id: '' } }) },
      isCut || examined.length === most,
    ),
  };
}

interface TagSizes extends Pick<TagsInput, 'first'> {
  readonly checksRows?: boolean;
}

/** A variable may hold a prefix, and the cost of a document does not depend on variables. */
const hasPrefix = (given: readonly ArgumentNode[]): boolean =>
  given.some(({ name, value }) => name.value === 'prefix' && value.kind !== Kind.NULL);

export function defineTags({ builder, PageInfo }: SchemaToolkit, limits: ContentLimits['post']): void {
  const Tag = builder.objectRef<TagRow>('Tag').implement({
    description: 'A tag of posts.',
    fields: (t) => ({
      name: t.exposeString('name', {
        maxCharacters: limits.tag.max,
        description: `The tag, ${lengthOf(limits.tag)}.`,
      }),
      postCount: t.exposeInt('postCount', {
        description: 'The number of posts with the tag. It follows a change within about a second.',
      }),
    }),
  });
  const TagOrder = builder.enumType('TagOrder', {
    description: 'The order of a list of tags.',
    values: {
      POST_COUNT: {
        value: 'count' as const,
        description: 'By `postCount`, highest first, and then by name.',
      },
      NAME: { value: 'name' as const, description: 'By the bytes of the name in UTF-8.' },
    },
  });
  const TagEdge = builder.objectRef<{ readonly row: TagRow; readonly order: TagOrder }>('TagEdge').implement({
    description: 'A tag and its position in a connection.',
    fields: (t) => ({
      cursor: t.string({
        description: 'An opaque position in the list.',
        resolve: ({ row, order }) => encodeTagCursor(row, order),
      }),
      node: t.field({ type: Tag, description: 'The tag.', resolve: ({ row }) => row }),
    }),
  });
  const counted = { field: 1, multiplier: 1 };
  const TagConnection = builder.objectRef<TagPage>('TagConnection').implement({
    description: 'A page of a list of tags.',
    fields: (t) => ({
      edges: t.field({
        type: [TagEdge],
        complexity: counted,
        description: 'The tags with their cursors.',
        resolve: ({ rows, order }) => rows.map((row) => ({ row, order })),
      }),
      nodes: t.field({
        type: [Tag],
        complexity: counted,
        description: 'The tags without cursors.',
        resolve: ({ rows }) => [...rows],
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'The position of this page.',
        resolve: ({ rows: [first], order, end, hasNextPage, hasPreviousPage }) => ({
          hasNextPage,
          hasPreviousPage,
          startCursor: first === undefined ? null : encodeTagCursor(first, order),
          endCursor: end === undefined ? null : encodeTagCursor(end, order),
        }),
      }),
    }),
  });
  builder.queryFields((t) => ({
    tags: t.field({
      type: TagConnection,
      scope: 'posts:read',
      description:
        'All tags with the number of their posts. With `prefix` and POST_COUNT, a page can have fewer tags than requested although the list continues.',
      extensions: { checksRows: hasPrefix },
      complexity: ({ first, checksRows }: TagSizes) => ({
        field: 1 + (checksRows === true ? MAX_EXAMINED / 10 : 0),
        multiplier: Math.min(Math.max(first ?? DEFAULT_LIMIT, 0), MAX_LIMIT),
      }),
      args: {
        prefix: t.arg.string({ description: 'Only tags that begin with this string.' }),
        orderBy: t.arg({
          type: TagOrder,
          defaultValue: 'count',
          description: 'The order of the tags. POST_COUNT if null.',
        }),
        first: t.arg.int({
          description: `The maximum number of tags to return: 0 to ${MAX_LIMIT}, ${DEFAULT_LIMIT} if absent or null.`,
        }),
        after: t.arg.string({
          description:
            'Returns only the tags after this cursor. With POST_COUNT, a tag whose count changes can be missed or repeated.',
        }),
      },
      resolve: (_root, args, context) => readTagPage(args, context, limits),
    }),
  }));
}
