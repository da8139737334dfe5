import type { ExecutionArgs, FieldNode, OperationDefinitionNode, VariableValues } from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { SmallMap } from '../../platform/small-map.ts';
import { type Context, declined } from '../context.ts';
import { isTooWide } from '../operation-plans.ts';
import { permissionsOf } from '../scope-plugin.ts';
import { type PlanArguments, resolveArguments } from './arguments.ts';
import { isToMany } from './edge.ts';
import { type EdgePlan, objectsOf, type RootMember } from './plan.ts';
import { mostPageFacts } from './plan-connection.ts';
import { planEdge } from './plan-edge.ts';
import { choiceOf, collectFields, variablesOf } from './selection.ts';
import { mostBytes } from './size.ts';
import { nextPlanId } from './statement-cache.ts';

/** The plan of an operation of which the database can write all root fields, or some. */
export interface WholePlan {
  readonly id: number;
  /** All root fields, in the order of the response. */
  readonly fields: Fields;
  /** The root fields that the database can write. */
  readonly members: readonly RootMember[];
  /** The members that are not `__typename`. */
  readonly roots: readonly EdgePlan[];
  /** The scopes that each of the roots needs. If the caller lacks one, resolvers refuse the fields one by one. */
  readonly scopesByRoot: ReadonlyMap<EdgePlan, ReadonlySet<Scope>>;
  /** The scopes that any of the roots needs. */
  readonly scopes: readonly Scope[];
  /** The reason why resolvers answer the other root fields; undefined if there are no others. */
  readonly reason: string | undefined;
  /**
   * Whether all requests have the same arguments: no variables, no root row that may depend on the caller.
   */
  readonly alike: boolean;
  /** The arguments, if all requests have the same. */
  known: WholeArguments | undefined;
}

/** The nodes of fields, by response name. */
type Fields = ReadonlyMap<string, readonly FieldNode[]>;

export interface WholeArguments extends PlanArguments {
  /** The root fields that the database writes. */
  readonly members: readonly RootMember[];
  /** The maximum size of their JSON. */
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

/** Adds the scopes that the fields of a plan need. False if one of the fields needs a session. */
function addScopes(scopes: Set<Scope>, plan: EdgePlan): boolean {
  const { scope, session } = permissionsOf(plan.field);
  if (session === true) return false;
  if (scope !== undefined) scopes.add(scope);
  return objectsOf(plan).every(({ edges, scopes: own }) => {
    for (const needed of own) scopes.add(needed);
    return [...edges.values()].every((edge) => addScopes(scopes, edge));
  });
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

/** Plans an operation; undefined if the database can write none of its root fields. */
function planOperation(
  { schema }: ExecutionArgs,
  { operation, selectionSet, variableDefinitions = [] }: OperationDefinitionNode,
  variableValues: VariableValues,
  { plans }: Context,
): WholePlan | string {
  const root = schema.getRootType(operation);
  if (root == null || isTooWide(plans)) return TOO_WIDE;
  let reason: string | undefined;
  const decline = (given: string) => {
    reason ??= given;
    return undefined;
  };
  const info = { schema, fragments: plans.fragments, variableValues, decline };
  const fields = collectFields(info, root, [selectionSet]);
  const members: RootMember[] = [];
  const scopesByRoot = new Map<EdgePlan, ReadonlySet<Scope>>();
  for (const [name, fieldNodes] of fields) {
    const fieldName = fieldNodes[0]?.name.value ?? '';
    if (fieldName === '__typename') {
      members.push({ name, kind: 'typename', type: root.name });
      continue;
    }
    const field = root.getFields()[fieldName];
    const plan = field === undefined ? undefined : planEdge(info, field, fieldNodes);
    const needed = new Set<Scope>();
    if (plan === undefined || !addScopes(needed, plan)) {
      decline(`${root.name}.${fieldName} has no edge, or needs a session`);
      continue;
    }
    members.push({ name, kind: 'edge', plan });
    scopesByRoot.set(plan, needed);
  }
  const roots = [...scopesByRoot.keys()];
  if (isTooWide(plans, countOtherSubqueries(roots))) return TOO_WIDE;
  if (roots.length === 0 && members.length < fields.size) return reason ?? 'nothing is selected';
  const alike =
    variableDefinitions.length === 0 && roots.every((root) => isToMany(root.edge) && !isOfCaller(root));
  const scopes = [...new Set([...scopesByRoot.values()].flatMap((needed) => [...needed]))];
  return { id: nextPlanId(), fields, members, roots, scopesByRoot, scopes, reason, alike, known: undefined };
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
    found = planOperation(args, operation, variables, context);
    plans.whole.set(key, found);
  }
  return typeof found === 'string' ? declined(context, found) : found;
}

/**
 * The plan of an operation, and the arguments of this request. Resolvers answer root fields that need them, that the
 * caller lacks a scope for, or whose arguments are invalid or name no row, with the usual errors. Undefined if these are
 * all root fields.
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
  if (plan.reason !== undefined) declined(context, plan.reason);
  const lacks = (scope: Scope) => !context.caller.scopes.has(scope);
  const missing = plan.scopes.find(lacks);
  if (missing !== undefined) declined(context, `the caller lacks the scope ${missing}`);
  else if (plan.known !== undefined) return { plan, given: plan.known };
  const isRefused = (root: EdgePlan) =>
    missing !== undefined && [...(plan.scopesByRoot.get(root) ?? [])].some(lacks);
  const resolved = resolveArguments(plan.roots, variables, context, isRefused);
  const isComplete = resolved.written.size === plan.roots.length;
  const members = isComplete
    ? plan.members
    : plan.members.filter((member) => member.kind === 'typename' || resolved.written.has(member.plan));
  if (resolved.written.size === 0 && members.length < plan.fields.size) return undefined;
  const given = { ...resolved, members, maxBytes: mostBytes(members, resolved) + ENVELOPE_BYTES };
  if (plan.alike && isComplete) plan.known = given;
  return { plan, given };
}
