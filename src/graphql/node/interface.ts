import type { GraphQLSchema } from 'graphql';
import { isAuthenticated } from '../../auth/principal.ts';
import type { Builder } from '../builder.ts';
import type { Context } from '../context.ts';
import { forbidden } from '../errors.ts';
import { requireScope, scopeMissing } from '../scope-plugin.ts';
import type { NodeRow } from './load-nodes.ts';
import { NODE, nodeTypes } from './node-type.ts';

/**
 * Throws FORBIDDEN if the caller may not read nodes of this type. That holds for callers without credentials
 * too: UNAUTHENTICATED would mean that nothing was executed (contract section 3).
 */
function requireNodeScope(typeName: string | undefined, { caller }: Context, schema: GraphQLSchema): void {
  const scope = nodeTypes(schema).find(({ type }) => type.name === typeName)?.scope;
  if (scope === undefined) throw new Error(`${typeName} is no type of a node`);
  const subject = `Type "${typeName}"`;
  if (isAuthenticated(caller)) requireScope(caller, scope, subject);
  else if (!caller.scopes.has(scope)) throw forbidden(scopeMissing(scope, subject));
}

/** Which scope a node needs is known with its type: hence the check here, whichever way the row was read. */
export const defineNode = (builder: Builder) =>
  builder.interfaceRef<NodeRow>(NODE).implement({
    description: 'Anything that `node` and `nodes` find by its id.',
    resolveType({ __typename }, context, { schema }) {
      requireNodeScope(__typename, context, schema);
      return __typename;
    },
    fields: (t) => ({
      id: t.exposeID('id', { description: 'A UUIDv7 that never changes.' }),
    }),
  });
