import {
  type ExecutionArgs,
  type GraphQLObjectType,
  getVariableValues,
  type OperationDefinitionNode,
  type VariableValues,
} from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { RecentlyUsed } from '../../platform/recently-used.ts';
import { type Context, declined } from '../context.ts';
import { isTooWide, type OperationPlans } from '../operation-plans.ts';
import { permissionsOf } from '../scope-plugin.ts';
import { collectFields } from './collect.ts';
import { choiceOf, NO_VARIABLES } from './conditions.ts';
import type { Decline, EdgePlan, ObjectPlan, RootMember } from './plan.ts';
import { pageFacts } from './plan-connection.ts';
import { planEdge } from './plan-edge.ts';

/**
 * The plans of an operation, by the values of its @skip and @include variables. A string is the reason why there is
 * none.
 */
export type PlanCache<Plan extends object> = RecentlyUsed<string, Plan | string>;

const MAX_PLANS = 16;

export const planCache = <Plan extends object>(): PlanCache<Plan> => new RecentlyUsed(MAX_PLANS);

/** The plan for the variables, made if it is not cached. Undefined if `plan` declines and gives a reason. */
export function cachedPlan<Plan extends object>(
  plans: PlanCache<Plan>,
  variables: VariableValues,
  context: Context,
  plan: (decline: Decline) => Plan | undefined,
): Plan | undefined {
  const key = choiceOf(context.plans.conditions, variables);
  if (key === undefined) return declined(context, 'a condition is not a Boolean');
  let found = plans.get(key);
  if (found === undefined) {
    let reason: string | undefined;
    const decline = (given: string) => {
      reason ??= given;
      return undefined;
    };
    found = plan(decline) ?? reason ?? 'nothing is selected';
    plans.set(key, found);
  }
  return typeof found === 'string' ? declined(context, found) : found;
}

/** The variables of an operation, coerced; undefined if one is invalid, an error that an execution reports. */
export function coercedVariables(
  { schema, variableValues }: ExecutionArgs,
  { variableDefinitions = [] }: OperationDefinitionNode,
): VariableValues | undefined {
  if (variableDefinitions.length === 0) return NO_VARIABLES;
  return getVariableValues(schema, variableDefinitions, variableValues ?? {}).variableValues;
}

/** Adds the scopes that the fields of a plan need. False if the database cannot write all of its response. */
function addScopes(scopes: Set<Scope>, { edge, field, object, types }: EdgePlan): boolean {
  const { scope, session } = permissionsOf(field);
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
  readonly variables: VariableValues;
  readonly plans: OperationPlans;
  readonly decline: Decline;
}

const TOO_WIDE = 'the operation is too wide for one statement';

/** Plans the root fields of an operation; undefined if the database cannot write its whole response. */
export function planRoots(
  root: GraphQLObjectType | null | undefined,
  { args, operation, variables, plans, decline }: PlannedOperation,
): RootPlans | undefined {
  if (root == null || isTooWide(plans)) return decline(TOO_WIDE);
  const info = {
    schema: args.schema,
    fragments: plans.fragments,
    variableValues: variables,
    form: 'whole' as const,
    decline,
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
    if (plan === undefined || !addScopes(scopes, plan))
      return decline(`${root.name}.${fieldName} has no edge, or needs a session`);
    members.push({ name, kind: 'edge', plan });
  }
  const roots = members.flatMap((member) => (member.kind === 'edge' ? [member.plan] : []));
  if (isTooWide(plans, countOtherSubqueries(roots))) return decline(TOO_WIDE);
  return members.length === 0 ? undefined : { members, roots, scopes: [...scopes] };
}

/** Whether the caller holds the scopes of a plan. If one is missing, resolvers refuse the fields one by one. */
export function holdsScopes(context: Context, { scopes }: Pick<RootPlans, 'scopes'>): boolean {
  const missing = scopes.find((scope) => !context.caller.scopes.has(scope));
  if (missing !== undefined) declined(context, `the caller lacks the scope ${missing}`);
  return missing === undefined;
}
