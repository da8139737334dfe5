import type { ExecutionArgs, OperationDefinitionNode, VariableValues } from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { SmallMap } from '../../platform/small-map.ts';
import { type Context, declined } from '../context.ts';
import { isTooWide } from '../operation-plans.ts';
import { permissionsOf } from '../scope-plugin.ts';
import { type PlanArguments, resolveArguments } from './arguments.ts';
import { collectFields } from './collect.ts';
import { choiceOf, variablesOf } from './conditions.ts';
import { isToMany } from './edge.ts';
import { type Decline, type EdgePlan, type ObjectPlan, objectsOf, type RootMember } from './plan.ts';
import { mostPageFacts } from './plan-connection.ts';
import { planEdge } from './plan-edge.ts';
import { mostBytes } from './size.ts';
import { nextPlanId } from './statement-cache.ts';

/** The plan of an operation whose responses the database can write. */
export interface WholePlan {
  readonly id: number;
  /** The root fields, in order. */
  readonly members: readonly RootMember[];
  /** Those of the members that are not `__typename`. */
  readonly roots: readonly EdgePlan[];
  /** The scopes that the fields need. If the caller lacks one, resolvers refuse the fields one by one. */
  readonly scopes: readonly Scope[];
  /**
   * Whether all requests have the same arguments: no variables, no root row that may depend on the caller.
   */
  readonly alike: boolean;
  /** The arguments, if all requests have the same. */
  known: WholeArguments | undefined;
}

export interface WholeArguments extends PlanArguments {
  /** The maximum size of the response. */
  readonly maxBytes: number;
}

declare module '../operation-plans.ts' {
  interface OperationPlans {
    /** By the values of its @skip and @include variables. A string is the reason why there is none. */
    whole?: SmallMap<string, WholePlan | string>;
  }
}

const MAX_PLANS = 16;

/** The response with this `data`. */
export const responseWith = (data: string): string => `{"data":${data}}`;

/** The bytes of a response around its `data`. */
export const ENVELOPE_BYTES = responseWith('').length;

/** Adds the scopes that the fields of a plan need. False if the database cannot write all of its response. */
function addScopes(scopes: Set<Scope>, { edge, field, object, types }: EdgePlan): boolean {
  const { scope, session } = permissionsOf(field);
  if (session === true) return false;
  if (scope !== undefined) scopes.add(scope);
  if (edge.kind === 'value') return true;
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
    if (connection !== undefined) count += mostPageFacts(connection);
    if (object !== undefined) count += countOtherSubqueries(object.edges.values());
    if (types === undefined) continue;
    count += types.length - 1;
    for (const { edges } of types) count += countOtherSubqueries(edges.values());
  }
  return count;
}

/** Whether anything that a plan reads depends on who asks. */
function isOfCaller(plan: EdgePlan): boolean {
  if (plan.edge.kind === 'value') return plan.edge.ofCaller === true;
  return objectsOf(plan).some(({ edges }) => [...edges.values()].some(isOfCaller));
}

const TOO_WIDE = 'the operation is too wide for one statement';

/** Plans an operation; undefined if the database cannot write its whole response. */
function planOperation(
  { schema }: ExecutionArgs,
  { operation, selectionSet, variableDefinitions = [] }: OperationDefinitionNode,
  variableValues: VariableValues,
  { plans }: Context,
  decline: Decline,
): WholePlan | undefined {
  const root = schema.getRootType(operation);
  if (root == null || isTooWide(plans)) return decline(TOO_WIDE);
  const info = { schema, fragments: plans.fragments, variableValues, form: 'whole' as const, decline };
  const members: RootMember[] = [];
  const scopes = new Set<Scope>();
  for (const [name, fieldNodes] of collectFields(info, root, [selectionSet])) {
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
  if (members.length === 0) return undefined;
  const alike =
    variableDefinitions.length === 0 && roots.every((root) => isToMany(root.edge) && !isOfCaller(root));
  return { id: nextPlanId(), members, roots, scopes: [...scopes], alike, known: undefined };
}

/** The plan for the variables, made if it is not cached. */
function cachedPlan(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  variables: VariableValues,
  context: Context,
): WholePlan | undefined {
  const { plans } = context;
  const key = choiceOf(plans.conditions, variables);
  if (key === undefined) return declined(context, 'a condition is not a Boolean');
  plans.whole ??= new SmallMap(MAX_PLANS);
  let found = plans.whole.get(key);
  if (found === undefined) {
    let reason: string | undefined;
    const decline = (given: string) => {
      reason ??= given;
      return undefined;
    };
    found = planOperation(args, operation, variables, context, decline) ?? reason ?? 'nothing is selected';
    plans.whole.set(key, found);
  }
  return typeof found === 'string' ? declined(context, found) : found;
}

/**
 * The plan of an operation, and the arguments of this request. Undefined if a field needs a resolver, the caller lacks a
 * scope or an argument is invalid or names no row: an execution then answers, with its usual errors.
 */
export function planWhole(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): { readonly plan: WholePlan; readonly given: WholeArguments } | undefined {
  const variables = variablesOf(args, operation);
  if (variables === undefined) return declined(context, 'a variable is invalid');
  const plan = cachedPlan(args, operation, variables, context);
  if (plan === undefined) return undefined;
  const missing = plan.scopes.find((scope) => !context.caller.scopes.has(scope));
  if (missing !== undefined) return declined(context, `the caller lacks the scope ${missing}`);
  if (plan.known !== undefined) return { plan, given: plan.known };
  const resolved = resolveArguments(plan.roots, variables, context);
  if (resolved.invalid !== undefined) return declined(context, resolved.invalid);
  const given = { ...resolved, maxBytes: mostBytes(plan.members, resolved, 'whole') + ENVELOPE_BYTES };
  if (plan.alike) plan.known = given;
  return { plan, given };
}
