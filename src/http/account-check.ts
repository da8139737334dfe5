import {
  BREAK,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Anonymous } from '../auth/principal.ts';
import { needsMoreThan } from '../graphql/scope-plugin.ts';
import { prune } from './operation-limits/prune.ts';
import type { Variables } from './variables.ts';

/** Whether an operation asks for something that it needs credentials for. What `@skip` leaves out is not asked for. */
export type AccountCheck = (
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
) => boolean;

/**
 * For callers without credentials who may read something all the same: what else an operation has in it refuses it as
 * a whole before anything of it runs (contract section 3). The variables are looked at only where that depends on them.
 */
export function createAccountCheck(schema: GraphQLSchema, { scopes }: Anonymous): AccountCheck {
  const mentions = (document: DocumentNode): boolean => {
    const types = new TypeInfo(schema);
    let found = false;
    const Field = () => {
      const field = types.getFieldDef();
      found ||= field != null && needsMoreThan(scopes, field);
      return found ? BREAK : undefined;
    };
    visit(document, visitWithTypeInfo(types, { Field }));
    return found;
  };
  const known = new WeakMap<DocumentNode, boolean>();
  return (document, operation, variables) => {
    let possible = known.get(document);
    if (possible === undefined) {
      possible = mentions(document);
      known.set(document, possible);
    }
    return possible && mentions(prune(schema, document, operation, variables));
  };
}
