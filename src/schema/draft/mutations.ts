import type { SchemaToolkit } from '../../engine/builder/schema-toolkit.ts';
import { principalOf, unitOfWorkOf } from '../../engine/core/context.ts';
import { lengthOf } from '../../engine/core/input.ts';
import { ownAccount } from '../account/service.ts';
import type { ContentLimits } from '../content-limits.ts';
import type { PostTypes } from '../post/type.ts';
import { versionArgument } from '../shared-arguments.ts';
import { createDraft, deleteDraft, publishDraft, updateDraft } from './service.ts';
import type { DraftTypes } from './type.ts';

export function defineDraftMutations(
  { builder }: SchemaToolkit,
  { Post }: PostTypes,
  { Draft }: DraftTypes,
  limits: ContentLimits,
): void {
  const { title, body, tag, maxTags, slug } = limits.post;
  builder.mutationFields((t) => {
    const id = t.arg.id({ required: true, description: 'The draft’s id.' });
    const ifVersion = versionArgument(t.arg);
    const fields = {
      title: t.arg.string({ description: `At most ${title.max} characters.` }),
      body: t.arg.string({ description: `At most ${body.max.toLocaleString('en')} characters.` }),
      tags: t.arg.stringList({
        description: `At most ${maxTags} tags of ${lengthOf(tag)} each, without duplicates.`,
      }),
      slug: t.arg.string({
        description: `The slug of the post, ${lengthOf(slug)}. BAD_USER_INPUT if it is malformed. An empty string removes it.`,
      }),
    };
    return {
      createDraft: t.field({
        type: Draft,
        scope: 'drafts:write',
        locks: ownAccount,
        description: `Creates a draft, which only the caller can see. An account can have at most ${limits.draft.maxPerAccount} drafts; another one is BAD_USER_INPUT.`,
        args: fields,
        resolve: (_root, given, context) =>
          createDraft(unitOfWorkOf(context), principalOf(context), given, limits),
      }),
      updateDraft: t.field({
        type: Draft,
        scope: 'drafts:write',
        locks: ownAccount,
        description:
          'Changes the given fields of a draft of the caller. Absent and null fields keep their value, and equal values change nothing. NOT_FOUND if the caller has no such draft.',
        args: { id, ...fields, ifVersion },
        resolve: (_root, { id: target, ...changes }, context) =>
          updateDraft(unitOfWorkOf(context), principalOf(context), target, changes, limits.post),
      }),
      deleteDraft: t.boolean({
        scope: 'drafts:write',
        locks: ownAccount,
        description:
          'Deletes a draft of the caller. True if the draft existed, false if the caller has no such draft.',
        args: { id, ifVersion },
        resolve: (_root, args, context) =>
          deleteDraft(unitOfWorkOf(context), principalOf(context), args.id, args.ifVersion),
      }),
      publishDraft: t.field({
        type: Post,
        scope: ['drafts:write', 'posts:write'],
        locks: ownAccount,
        description:
          'Creates a post from a draft of the caller, by the rules of `createPost`, and deletes the draft. NOT_FOUND if the caller has no such draft.',
        args: { id, ifVersion },
        resolve: (_root, args, context) =>
          publishDraft(unitOfWorkOf(context), principalOf(context), args.id, args.ifVersion, limits.post),
      }),
    };
  });
}
