import { defineConnection } from '../../engine/builder/connection-type.ts';
import type { ListArguments } from '../../engine/builder/connections.ts';
import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { lengthOf } from '../../engine/core/input.ts';
import { createEntity, type EntityRow } from '../../engine/queries/entity.ts';
import { drafts } from '../../generated/tables.ts';
import type { ContentLimits } from '../content-limits.ts';
import type { UserTypes } from '../user/type.ts';

/** The lists have no other order. */
const BY_CHANGE: ListArguments<Record<never, never>> = {
  args: () => ({}),
  narrow: () => ({ order: 'recently-updated' }),
  checksRows: () => false,
};

export const draftEntity = createEntity(drafts, { texts: ['body'] });

export type DraftRow = EntityRow<typeof draftEntity>;

export function defineDraft(
  toolkit: SchemaToolkit,
  { User }: UserTypes,
  { post: { title, body, tag, maxTags, slug }, draft: { maxPerAccount } }: ContentLimits,
) {
  const Draft = toolkit.builder.node('Draft', {
    description: 'A post that is not published. Only its author can see it.',
    entity: draftEntity,
    scope: 'drafts:read',
    owner: 'authorId',
    fields: (t) => ({
      title: t.exposeString('title', {
        maxCharacters: title.max,
        description: `The title of the post, at most ${title.max} characters. It may be empty until the draft is published.`,
      }),
      body: t.exposeString('body', {
        maxCharacters: body.max,
        description: `The body of the post, at most ${body.max.toLocaleString('en')} characters, exactly as written. It may be empty until the draft is published.`,
      }),
      tags: t.exposeStringList('tags', {
        maxCharacters: maxTags * (tag.max + 1),
        description: `The tags of the post, at most ${maxTags} of ${lengthOf(tag)}, in the order given.`,
      }),
      slug: t.exposeString('slug', {
        nullable: true,
        maxCharacters: slug.max,
        description: `The slug of the post, ${lengthOf(slug)}; null if it is derived from the title.`,
      }),
      createdAt: t.expose('createdAt', {
        type: 'DateTime',
        description: 'When the draft was created. It never changes.',
      }),
      updatedAt: t.expose('updatedAt', {
        type: 'DateTime',
        description: 'When the draft last changed; `createdAt` if it never changed.',
      }),
      version: t.exposeInt('version', {
        description:
          'The version of the draft, for `ifVersion`. It starts at 1 and increases by 1 with each change.',
      }),
    }),
  });

  const DraftConnection = defineConnection(toolkit, 'Draft', Draft);
  const whose = `Only for the viewer’s account; otherwise FORBIDDEN.`;
  toolkit.builder.objectFields(User, (t) => ({
    drafts: t.hasMany(Draft, 'authorId', {
      order: 'newest-first',
      narrowed: BY_CHANGE,
      scope: 'drafts:read',
      ownOnly: true,
      description: `The account’s drafts, newest change first. An account has at most ${maxPerAccount}. ${whose}`,
    }),
    draftsConnection: t.hasManyConnection(DraftConnection, 'authorId', {
      order: 'newest-first',
      narrowed: BY_CHANGE,
      scope: 'drafts:read',
      ownOnly: true,
      description: `The account’s drafts as a connection, newest change first. ${whose}`,
    }),
  }));
  return { Draft };
}

export type DraftTypes = ReturnType<typeof defineDraft>;
