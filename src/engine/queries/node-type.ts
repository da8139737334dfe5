import { type GraphQLObjectType, type GraphQLSchema, isInterfaceType } from 'graphql';
import { isAuthenticated } from '../../auth/principal.ts';
import type { Scope } from '../../auth/scopes.ts';
import { getOrCreate } from '../../platform/cache.ts';
import { forbidden } from '../../platform/errors.ts';
import type { Context } from '../core/context.ts';
import { requireScope, scopeMissing } from '../core/permissions.ts';
import type { Entity } from './entity.ts';
import type { Identified } from './loaders.ts';

/** graphql-js reads the type of a row from `__typename`. */
export interface NodeRow extends Identified {
  readonly __typename?: string;
}

export const NODE = 'Node';

/** Each node needs the scope (contract: Node interface). */
interface NodeSource {
  readonly entity: Entity<Identified>;
  readonly scope: Scope;
  /** The property with the only account that finds the row. For callers without the scope, the row does not exist. */
  readonly owner?: string | undefined;
}

export interface NodeType extends NodeSource {
  readonly type: GraphQLObjectType;
  readonly ids: Entity<Identified>;
}

export const nodeFrom = (node: NodeSource) => ({ node });

const known = new WeakMap<GraphQLSchema, readonly NodeType[]>();

function findTypes(schema: GraphQLSchema): readonly NodeType[] {
  const node = schema.getType(NODE);
  if (!isInterfaceType(node)) throw new Error(`the schema has no interface ${NODE}`);
  return schema.getPossibleTypes(node).map((type) => {
    const { node: source } = type.extensions as { readonly node?: NodeSource };
    if (source === undefined)
      throw new Error(`the type ${type.name} implements ${NODE} without "builder.node"`);
    const { entity } = source;
    return {
      type,
      ...source,
      ids: { ...entity, name: `${entity.name}_ids`, columns: { id: entity.columns.id } },
    };
  });
}

/** Returns the types in the order in which the service looks for an id. Throws if one lacks `builder.node`. */
export const nodeTypes = (schema: GraphQLSchema): readonly NodeType[] =>
  getOrCreate(known, schema, () => findTypes(schema));

/**
 * Callers without credentials get FORBIDDEN too, because UNAUTHENTICATED means that nothing was executed (contract:
 * credentials).
 * @throws {ApiError} FORBIDDEN
 */
export function requireNodeScope(
  typeName: string | undefined,
  { caller }: Context,
  schema: GraphQLSchema,
): void {
  const scope = nodeTypes(schema).find(({ type }) => type.name === typeName)?.scope;
  if (scope === undefined) throw new Error(`${typeName} is no type of a node`);
  const subject = `Type "${typeName}"`;
  if (isAuthenticated(caller)) requireScope(caller, scope, subject);
  else if (!caller.scopes.has(scope)) throw forbidden(scopeMissing(scope, subject));
}
