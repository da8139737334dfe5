import {
  type DocumentNode,
  type ExecutionArgs,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Scope } from '../../auth/scopes.ts';
import type { Parameter } from '../../platform/db/statement.ts';
import type { Context } from '../context.ts';
import { answerTooLarge } from '../errors.ts';
import type { OperationPlans } from '../operation-plans.ts';
import type { Page } from '../pagination/arguments.ts';
import { isTooWide } from '../width.ts';
import { collectFields } from './collect.ts';
import { choiceOf, conditionVariables } from './conditions.ts';
import { isToMany, type RowEdge } from './edge.ts';
import { type EdgePlan, planEdge } from './plan.ts';
import { buildBoundedSql, mostBytes } from './size.ts';
import { buildSql, type Pages, pageParameters, resolvePages } from './statement.ts';
import { cachedStatement, type JsonStatement, nextPlanId } from './statement-cache.ts';

/** A plan's pages and parameters for the arguments of a request. */
interface WholeArguments {
  readonly pages: Pages;
  /** Whether the response may be too large, so the statement measures it. */
  readonly bounded: boolean;
  readonly values: readonly Parameter[];
}

/** The plan of an operation that the database can answer by itself. */
interface WholePlan {
  readonly id: number;
  readonly roots: ReadonlyMap<string, EdgePlan>;
  /** The scopes that the fields need. If the caller lacks one, resolvers refuse the fields one by one. */
  readonly scopes: readonly Scope[];
  /**
   * Whether all requests have the same arguments: no variables, no root row that may depend on the caller.
   */
  readonly alike: boolean;
  /** The arguments, if all requests have the same. */
  known: WholeArguments | undefined;
}

/** The plans of an operation, by the values of its @skip and @include variables. */
interface WholePlans {
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  readonly conditions: readonly string[];
  readonly plans: LRUCache<string, WholePlan | 'declined'>;
}

declare module '../operation-plans.ts' {
  interface OperationPlans {
    whole?: WholePlans;
  }
}

type Variables = Readonly<Record<string, unknown>>;

const MAX_PLANS = 16;

function plansOf(document: DocumentNode, operation: OperationDefinitionNode): WholePlans {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const node of document.definitions)
    if (node.kind === Kind.FRAGMENT_DEFINITION) fragments[node.name.value] = node;
  return {
    fragments,
    conditions: conditionVariables({ operation, fragments }),
    plans: new LRUCache({ max: MAX_PLANS }),
  };
}

/** The scopes that the fields of a plan need; undefined if the database cannot write all of its response. */
function scopesOf({ edge, field, object }: EdgePlan): Scope[] | undefined {
  const own = field.extensions.scope === undefined ? [] : [field.extensions.scope as Scope];
  if (edge.kind === 'values') return own;
  if (object?.members === undefined) return undefined;
  const below = object.members.map((member) => (member.kind === 'edge' ? scopesOf(member.plan) : []));
  return below.every((scopes) => scopes !== undefined) ? [...own, ...below.flat()] : undefined;
}

function planOperation(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  { fragments }: WholePlans,
  variableValues: Record<string, unknown>,
  plans: OperationPlans,
): WholePlan | 'declined' {
  const query = schema.getQueryType();
  if (query == null || isTooWide(plans, operation, fragments)) return 'declined';
  const info = { schema, fragments, variableValues };
  const roots = new Map<string, EdgePlan>();
  const scopes = new Set<Scope>();
  for (const [name, nodes] of collectFields(info, query, [operation.selectionSet])) {
    const field = query.getFields()[nodes[0]?.name.value ?? ''];
    const plan = field === undefined ? undefined : planEdge(info, field, nodes);
    const needed = plan === undefined ? undefined : scopesOf(plan);
    if (plan === undefined || needed === undefined) return 'declined';
    roots.set(name, plan);
    for (const scope of needed) scopes.add(scope);
  }
  if (roots.size === 0) return 'declined';
  const { variableDefinitions = [] } = operation;
  const alike = variableDefinitions.length === 0 && [...roots.values()].every(({ edge }) => isToMany(edge));
  return { id: nextPlanId(), roots, scopes: [...scopes], alike, known: undefined };
}

/** The id of a root row; undefined if its arguments are invalid or name no row. */
function rowId(
  { field, node }: EdgePlan,
  edge: RowEdge,
  variables: Variables,
  context: Context,
): string | undefined {
  let args: Record<string, unknown>;
  try {
    args = getArgumentValues(field, node, variables);
  } catch {
    // For example null in a variable with a default: an execution reports it for this field alone.
    return undefined;
  }
  return edge.id(args, context);
}

/** The bytes of a response around its `data`. */
const ENVELOPE_BYTES = '{"data":}'.length;

/** The arguments of a request; undefined if one is invalid or names no row. */
function argumentsOf(
  { roots }: WholePlan,
  variables: Variables,
  context: Context,
): WholeArguments | undefined {
  const pages = new Map<EdgePlan, Page>();
  const values: Parameter[] = [];
  let shape = '';
  for (const plan of roots.values()) {
    const resolved = resolvePages(plan, variables);
    if (resolved.shape.includes('!') || (isToMany(plan.edge) && !resolved.pages.has(plan))) return undefined;
    if (plan.edge.kind === 'row') {
      const id = rowId(plan, plan.edge, variables, context);
      if (id === undefined) return undefined;
      values.push(id);
    }
    values.push(...pageParameters(resolved));
    for (const [list, page] of resolved.pages) pages.set(list, page);
    shape += `;${resolved.shape}`;
  }
  const bounded = mostBytes(roots, { pages }, 'whole') > context.maxResponseBytes - ENVELOPE_BYTES;
  return { pages: { pages, shape: bounded ? `${shape};bounded` : shape }, bounded, values };
}

function statementOf(
  { id, roots }: WholePlan,
  { pages, bounded }: WholeArguments,
  { maxResponseBytes }: Context,
): JsonStatement {
  return cachedStatement(
    id,
    pages.shape,
    () => `whole_${[...roots.values()][0]?.field.name}`,
    () =>
      bounded
        ? buildBoundedSql(roots, pages, 'whole', maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(roots, pages, 'whole'),
  );
}

/**
 * Answers a query with one statement that writes the `data` of the response itself: nothing is parsed,
 * resolved or serialised on the way. Undefined if a field needs a resolver, the caller lacks a scope or an
 * argument is invalid: an execution then answers the query, with its usual errors. Throws DatabaseError, and
 * COMPLEXITY_LIMIT if the response is too large.
 */
export async function answerWhole(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): Promise<string | undefined> {
  if (operation.operation !== 'query') return undefined;
  const { schema } = args;
  const { plans } = context;
  plans.whole ??= plansOf(args.document, operation);
  const cache = plans.whole;
  const { variableDefinitions = [] } = operation;
  const { coerced: variables } =
    variableDefinitions.length === 0
      ? { coerced: {} }
      : getVariableValues(schema, variableDefinitions, args.variableValues ?? {});
  if (variables === undefined) return undefined;
  const key = choiceOf(cache.conditions, variables);
  if (key === undefined) return undefined;
  let plan = cache.plans.get(key);
  if (plan === undefined) {
    plan = planOperation(schema, operation, cache, variables, plans);
    cache.plans.set(key, plan);
  }
  if (plan === 'declined' || !plan.scopes.every((scope) => context.caller.scopes.has(scope)))
    return undefined;
  const given = plan.known ?? argumentsOf(plan, variables, context);
  if (given === undefined) return undefined;
  if (plan.alike) plan.known = given;
  context.onPath('whole_answer');
  const [row] = await context.db.query(statementOf(plan, given, context), given.values);
  if (row?.data == null && row?.size !== undefined)
    throw answerTooLarge(row.size + ENVELOPE_BYTES, context.maxResponseBytes);
  return row?.data ?? undefined;
}
