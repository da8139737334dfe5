import { type ArgumentNode, Kind, type ValueNode } from 'graphql';
import type { ArgumentBuilder } from '../../engine/builder/connections.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { checkText, parseId } from '../../engine/core/input.ts';
import type { ListOrder } from '../../engine/queries/entity.ts';
import type { PageFilter, PageRange } from '../../engine/queries/pagination.ts';
import { badInput } from '../../platform/errors.ts';
import type { ContentLimits } from '../content-limits.ts';

interface FilterInput {
  readonly author?: string | null | undefined;
  readonly tags?: readonly string[] | null | undefined;
  readonly createdAfter?: Date | null | undefined;
  readonly createdBefore?: Date | null | undefined;
  readonly updatedAfter?: Date | null | undefined;
}

export interface PostListInput {
  readonly filter?: FilterInput | null | undefined;
  readonly orderBy?: ListOrder | null | undefined;
}

/** No row has this id. */
const NO_ID = '00000000-0000-0000-0000-000000000000';

function checkTags(
  tags: readonly string[],
  { tag, maxFilterTags }: ContentLimits['post'],
): readonly string[] {
  if (tags.length > maxFilterTags)
    throw badInput('filter', `must have at most ${maxFilterTags} tags, but has ${tags.length}.`);
  for (const name of tags) checkText('filter', name, tag, 'has a tag that ');
  return [...new Set(tags)];
}

function parseFilter(
  { author, tags, createdAfter, createdBefore, updatedAfter }: FilterInput,
  limits: ContentLimits['post'],
): PageFilter | undefined {
  const values = checkTags(tags ?? [], limits);
  const filter: PageFilter = {
    ...(author == null ? {} : { equal: { property: 'authorId', id: parseId(author) ?? NO_ID } }),
    ...(values.length === 0 ? {} : { values }),
    ...(createdAfter == null ? {} : { createdAfter }),
    ...(createdBefore == null ? {} : { createdBefore }),
    ...(updatedAfter == null ? {} : { updatedAfter }),
  };
  return Object.keys(filter).length === 0 ? undefined : filter;
}

/**
 * Lists are in the order `NEWEST` by default.
 * @throws {ApiError} BAD_USER_INPUT
 */
export function narrowPosts(
  { filter, orderBy }: PostListInput,
  limits: ContentLimits['post'],
): Pick<PageRange, 'order' | 'filter'> {
  const parsed = filter == null ? undefined : parseFilter(filter, limits);
  return {
    ...(orderBy == null || orderBy === 'newest-first' ? {} : { order: orderBy }),
    ...(parsed === undefined ? {} : { filter: parsed }),
  };
}

const isGiven = ({ kind }: ValueNode) => kind !== Kind.NULL;

/** A variable may have any number of items. */
function countItems(value: ValueNode | undefined): number {
  if (value === undefined || !isGiven(value)) return 0;
  if (value.kind === Kind.LIST) return value.values.length;
  return value.kind === Kind.VARIABLE ? Number.POSITIVE_INFINITY : 1;
}

/**
 * True if no index may have all conditions of the arguments. An index has a time range in the order of the list, and an
 * author or one tag.
 */
export const postListChecksRows =
  (ofAuthor: boolean) =>
  (given: readonly ArgumentNode[]): boolean => {
    const findValue = (name: string) => given.find((argument) => argument.name.value === name)?.value;
    const [filter, orderBy] = [findValue('filter'), findValue('orderBy')];
    if (filter?.kind === Kind.VARIABLE) return true;
    const fields = filter?.kind === Kind.OBJECT ? filter.fields : [];
    const members = new Map(
      fields.filter(({ value }) => isGiven(value)).map(({ name, value }) => [name.value, value]),
    );
    const tag = findValue('tag');
    const tags = countItems(members.get('tags')) + (tag !== undefined && isGiven(tag) ? 1 : 0);
    const isRange = members.has('createdAfter') || members.has('createdBefore');
    const isUpdated = orderBy?.kind === Kind.ENUM && orderBy.value === 'RECENTLY_UPDATED';
    const mayBeUpdated = isUpdated || orderBy?.kind === Kind.VARIABLE;
    if (mayBeUpdated && (tags > 0 || isRange)) return true;
    if (isUpdated) return false;
    return members.has('updatedAfter') || tags > 1 || (tags > 0 && (ofAuthor || members.has('author')));
  };

/** Defines the types of the arguments that all lists of posts have. */
export function definePostListArguments(
  { builder }: SchemaToolkit,
  { maxFilterTags }: ContentLimits['post'],
) {
  const PostOrder = builder.enumType('PostOrder', {
    description: 'The order of a list of posts.',
    values: {
      NEWEST: { value: 'newest-first' as const, description: 'By `createdAt`, newest first.' },
      OLDEST: { value: 'oldest-first' as const, description: 'By `createdAt`, oldest first.' },
      RECENTLY_UPDATED: {
        value: 'recently-updated' as const,
        description:
          'By `updatedAt`, latest first. A post that is changed moves to the beginning, so reading to the end can miss it; `changes` shows it.',
      },
    },
  });
  const PostFilter = builder.inputType('PostFilter', {
    description:
      'Conditions on posts. A post must fulfil all of them; absent and null members are no conditions.',
    fields: (t) => ({
      author: t.id({ description: 'Only posts of the user with this id.' }),
      tags: t.stringList({
        description: `Only posts with all of these tags, at most ${maxFilterTags}. Begin with the rarest tag.`,
      }),
      createdAfter: t.field({ type: 'DateTime', description: 'Only posts created after this time.' }),
      createdBefore: t.field({ type: 'DateTime', description: 'Only posts created before this time.' }),
      updatedAfter: t.field({
        type: 'DateTime',
        description: 'Only posts whose `updatedAt` is after this time.',
      }),
    }),
  });
  const listArguments = (arg: ArgumentBuilder) => ({
    filter: arg({
      type: PostFilter,
      description:
        'Only posts that fulfil these conditions. Where most posts do not, a page can have fewer posts than requested although the list continues.',
    }),
    orderBy: arg({ type: PostOrder, description: 'The order of the posts. NEWEST if absent or null.' }),
  });
  return { PostFilter, listArguments };
}
