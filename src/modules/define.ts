import type { Kernel } from '../graphql/kernel.ts';
import { type AccountEndings, defineAccountMutations } from './account/mutations.ts';
import { defineAccountEdges, defineAccountTypes } from './account/type.ts';
import { defineChange, defineChangeSubscriptions } from './change/type.ts';
import { defineCommentMutations } from './comment/mutations.ts';
import { defineComment, defineCommentEdges } from './comment/type.ts';
import { definePostMutations } from './post/mutations.ts';
import { definePostQueries, definePostSubscriptions } from './post/queries.ts';
import { definePost, definePostEdges } from './post/type.ts';
import type { Rules } from './rules.ts';
import { defineUser, defineUserQueries } from './user/type.ts';

/**
 * Defines the types of all modules, in the order in which the fields of Query, Mutation and User get them.
 */
export function defineModules(kernel: Kernel, rules: Rules, endings: AccountEndings) {
  const user = defineUser(kernel);
  defineUserQueries(kernel, user);

  const account = defineAccountTypes(kernel);
  defineAccountEdges(kernel, user, account, rules.account);
  defineAccountMutations(kernel, user, account, rules.account, endings);

  const post = definePost(kernel, user, rules.post);
  definePostEdges(kernel, user, post);
  definePostQueries(kernel, post, rules.post);
  definePostMutations(kernel, post, rules.post);
  definePostSubscriptions(kernel, post);

  const comment = defineComment(kernel, user, post, rules.comment);
  defineCommentEdges(kernel, user, post, comment);
  defineCommentMutations(kernel, comment, rules.comment);

  defineChangeSubscriptions(kernel, defineChange(kernel, post, comment));
  return { user, post };
}
