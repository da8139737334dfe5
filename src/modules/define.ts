import type { Kernel } from '../graphql/kernel.ts';
import { defineAccountEdges } from './account/edges.ts';
import { type AccountEndings, defineAccountMutations } from './account/mutations.ts';
import { defineAccountTypes } from './account/type.ts';
import { defineChangeSubscriptions } from './change/subscriptions.ts';
import { defineChange } from './change/type.ts';
import { defineCommentEdges } from './comment/edges.ts';
import { defineCommentMutations } from './comment/mutations.ts';
import { defineComment } from './comment/type.ts';
import { definePostEdges } from './post/edges.ts';
import { definePostMutations } from './post/mutations.ts';
import { definePostQueries } from './post/queries.ts';
import { definePostSubscriptions } from './post/subscriptions.ts';
import { definePost } from './post/type.ts';
import type { Rules } from './rules.ts';
import { defineUserQueries } from './user/queries.ts';
import { defineUser } from './user/type.ts';

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
