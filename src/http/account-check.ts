import {
  BREAK,
  type DocumentNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Scope } from '../auth/scopes.ts';
import { needsMoreThan } from '../graphql/scope-plugin.ts';
import { prune } from './operation-limits/prune.ts';
import type { Variables } from './variables.ts';

/** Whether an operation asks for something that only an account may have, whatever its branches skip left aside. */
export type AccountCheck = (
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
  scopes: ReadonlySet<Scope>,
) => boolean;

/**
 * For callers without credentials who may read something all the same: what else an operation has in it refuses it as
 * a whole before anything of it runs (contract section 3). The variables are looked at only where that depends on them.
 */
export function createAccountCheck(schema: GraphQLSchema): AccountCheck {
  const mentions = (document: DocumentNode, scopes: ReadonlySet<Scope>): boolean => {
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
  /** All anonymous callers have the same scopes. */
  const known = new WeakMap<DocumentNode, boolean>();
  return (document, operation, variables, scopes) => {
    let possible = known.get(document);
    if (possible === undefined) {
      possible = mentions(document, scopes);
      known.set(document, possible);
    }
    return possible && mentions(prune(schema, document, operation, variables), scopes);
  };
}
