import {
  type ExecutionArgs,
  type GraphQLObjectType,
  getVariableValues,
  type OperationDefinitionNode,
} from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { RecentlyUsed } from '../../platform/recently-used.ts';
import { isTooWide, type OperationPlans } from '../operation-plans.ts';
import { guardsOf } from '../scope-plugin.ts';
import { collectFields } from './collect.ts';
import { choiceOf } from './conditions.ts';
import type { EdgePlan, ObjectPlan, RootMember } from './plan.ts';
import { pageFacts } from './plan-connection.ts';
import { planEdge } from './plan-edge.ts';

type Variables = Readonly<Record<string, unknown>>;

/** The plans of an operation, by the values of its @skip and @include variables. */
export type PlanCache<Plan extends object> = RecentlyUsed<string, Plan | 'declined'>;

const MAX_PLANS = 16;

export const planCache = <Plan extends object>(): PlanCache<Plan> => new RecentlyUsed(MAX_PLANS);

/** The plan for the variables, made if it is not cached. Undefined if `plan` declines. */
export function cachedPlan<Plan extends object>(
  plans: PlanCache<Plan>,
  { conditions }: OperationPlans,
  variables: Variables,
  plan: () => Plan | undefined,
): Plan | undefined {
  const key = choiceOf(conditions, variables);
  if (key === undefined) return undefined;
  let found = plans.get(key);
  if (found === undefined) {
    found = plan() ?? 'declined';
    plans.set(key, found);
  }
  return found === 'declined' ? undefined : found;
}

/** The variables of an operation, coerced; undefined if one is invalid, an error that an execution reports. */
export function coercedVariables(
  { schema, variableValues }: ExecutionArgs,
  { variableDefinitions = [] }: OperationDefinitionNode,
): Record<string, unknown> | undefined {
  if (variableDefinitions.length === 0) return {};
  return getVariableValues(schema, variableDefinitions, variableValues ?? {}).coerced;
}

/** Adds the scopes that the fields of a plan need. False if the database cannot write all of its response. */
function addScopes(scopes: Set<Scope>, { edge, field, object, types }: EdgePlan): boolean {
  const { scope, session } = guardsOf(field);
  if (session === true) return false;
  if (scope !== undefined) scopes.add(scope);
  if (edge.kind === 'values') return true;
  if (object !== undefined) return addScopesOfRow(scopes, object);
  return types === undefined || types.every((type) => addScopesOfRow(scopes, type));
}

function addScopesOfRow(scopes: Set<Scope>, { members, edges, scopes: own }: ObjectPlan): boolean {
  if (members === undefined) return false;
  for (const scope of own) scopes.add(scope);
  for (const edge of edges.values()) if (!addScopes(scopes, edge)) return false;
  return true;
}

/**
 * The subqueries of these plans that are not for a field with a selection: each fact about a page that a connection
 * shows, and each type but one that a node can have.
 */
function countOtherSubqueries(plans: Iterable<EdgePlan>): number {
  let count = 0;
  for (const { connection, object, types } of plans) {
    if (connection !== undefined) count += pageFacts(connection).size;
    if (object !== undefined) count += countOtherSubqueries(object.edges.values());
    if (types === undefined) continue;
    count += types.length - 1;
    for (const { edges } of types) count += countOtherSubqueries(edges.values());
  }
  return count;
}

/** The root fields of an operation, in order. */
export interface RootPlans {
  readonly members: readonly RootMember[];
  /** Those of the members that are not `__typename`. */
  readonly roots: readonly EdgePlan[];
  /** The scopes that the fields need. If the caller lacks one, resolvers refuse the fields one by one. */
  readonly scopes: readonly Scope[];
}

interface PlannedOperation {
  readonly args: ExecutionArgs;
  readonly operation: OperationDefinitionNode;
  readonly variables: Record<string, unknown>;
  readonly plans: OperationPlans;
}

/** Plans the root fields of an operation; undefined if the database cannot write its whole response. */
export function planRoots(
  root: GraphQLObjectType | null | undefined,
  { args, operation, variables, plans }: PlannedOperation,
): RootPlans | undefined {
  if (root == null || isTooWide(plans)) return undefined;
  const info = {
    schema: args.schema,
    fragments: plans.fragments,
    variableValues: variables,
    form: 'whole' as const,
  };
  const members: RootMember[] = [];
  const scopes = new Set<Scope>();
  for (const [name, fieldNodes] of collectFields(info, root, [operation.selectionSet])) {
    const fieldName = fieldNodes[0]?.name.value ?? '';
    if (fieldName === '__typename') {
      members.push({ name, kind: 'typename', type: root.name });
      continue;
    }
    const field = root.getFields()[fieldName];
    const plan = field === undefined ? undefined : planEdge(info, field, fieldNodes);
    if (plan === undefined || !addScopes(scopes, plan)) return undefined;
    members.push({ name, kind: 'edge', plan });
  }
  const roots = members.flatMap((member) => (member.kind === 'edge' ? [member.plan] : []));
  if (isTooWide(plans, countOtherSubqueries(roots))) return undefined;
  return members.length === 0 ? undefined : { members, roots, scopes: [...scopes] };
}
