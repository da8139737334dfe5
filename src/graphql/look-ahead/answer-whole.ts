import type { ExecutionArgs, OperationDefinitionNode } from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import type { Parameter } from '../../platform/db/statement.ts';
import type { Context } from '../context.ts';
import { answerTooLarge } from '../errors.ts';
import type { Page } from '../pagination/arguments.ts';
import { withCursors } from './cursor-json.ts';
import { isToMany } from './edge.ts';
import type { EdgePlan, RootMember } from './plan.ts';
import { type RootIds, rootIds } from './root-ids.ts';
import { buildBoundedSql, mostBytes } from './size.ts';
import { buildSql, type Pages, pageParameters, resolvePages } from './statement.ts';
import { cachedStatement, type JsonStatement, nextPlanId } from './statement-cache.ts';
import {
  cachedPlan,
  coercedVariables,
  type PlanCache,
  planCache,
  planRoots,
  type RootPlans,
} from './whole-plan.ts';

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
  readonly members: readonly RootMember[];
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

declare module '../operation-plans.ts' {
  interface OperationPlans {
    whole?: PlanCache<WholePlan>;
  }
}

type Variables = Readonly<Record<string, unknown>>;

/** The plan of a query from those of its root fields. */
function planQuery({ members, roots, scopes }: RootPlans, operation: OperationDefinitionNode): WholePlan {
  const { variableDefinitions = [] } = operation;
  const alike = variableDefinitions.length === 0 && roots.every(({ edge }) => isToMany(edge));
  return { id: nextPlanId(), members, roots, scopes, alike, known: undefined };
}

/** The `data` of a query that reads nothing. */
function typeNames({ members }: WholePlan): string {
  const named = members.flatMap((member) =>
    member.kind === 'typename' ? `${JSON.stringify(member.name)}:${JSON.stringify(member.type)}` : [],
  );
  return `{${named.join()}}`;
}

/** The ids of a root row or of nodes; 'invalid' if the arguments are. Undefined for other edges. */
function idsOf(plan: EdgePlan, variables: Variables, context: Context): RootIds | 'invalid' | undefined {
  try {
    return rootIds(plan, variables, context);
  } catch {
    // For example null in a variable with a default: an execution reports it for this field alone.
    return 'invalid';
  }
}

/** The bytes of a response around its `data`. */
const ENVELOPE_BYTES = '{"data":}'.length;

/** The arguments of a request; undefined if one is invalid or names no row. */
function argumentsOf(
  { members, roots }: WholePlan,
  variables: Variables,
  context: Context,
): WholeArguments | undefined {
  const pages = new Map<EdgePlan, Page>();
  const values: Parameter[] = [];
  let shape = '';
  for (const plan of roots) {
    const resolved = resolvePages(plan, variables);
    if (resolved.shape.includes('!') || (isToMany(plan.edge) && !resolved.pages.has(plan))) return undefined;
    const ids = idsOf(plan, variables, context);
    if (ids !== undefined) {
      if (ids === 'invalid' || ids.parameter === undefined) return undefined;
      values.push(ids.parameter);
      // For its size, a list of nodes is a page of that many rows.
      if (ids.count !== undefined) pages.set(plan, { limit: ids.count, offset: 0 });
    }
    values.push(...pageParameters(resolved));
    for (const [list, page] of resolved.pages) pages.set(list, page);
    shape += `;${resolved.shape}`;
  }
  const bounded = mostBytes(members, { pages }, 'whole') > context.maxResponseBytes - ENVELOPE_BYTES;
  return { pages: { pages, shape: bounded ? `${shape};bounded` : shape }, bounded, values };
}

function statementOf(
  { id, members, roots }: WholePlan,
  { pages, bounded }: WholeArguments,
  { maxResponseBytes }: Context,
): JsonStatement {
  return cachedStatement(
    id,
    pages.shape,
    () => `whole_${roots[0]?.field.name}`,
    () =>
      bounded
        ? buildBoundedSql(members, pages, 'whole', maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(members, pages, 'whole'),
  );
}

/**
 * Answers a query with at most one statement, which writes the `data` of the response itself: nothing is parsed,
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
  const { plans } = context;
  plans.whole ??= planCache();
  const variables = coercedVariables(args, operation);
  if (variables === undefined) return undefined;
  const plan = cachedPlan(plans.whole, plans, variables, () => {
    const root = args.schema.getQueryType();
    const planned = planRoots(root, { args, operation, variables, plans });
    return planned && planQuery(planned, operation);
  });
  if (plan === undefined || !plan.scopes.every((scope) => context.caller.scopes.has(scope))) return undefined;
  if (plan.roots.length === 0) {
    context.onPath('whole_answer');
    return typeNames(plan);
  }
  const given = plan.known ?? argumentsOf(plan, variables, context);
  if (given === undefined) return undefined;
  if (plan.alike) plan.known = given;
  context.onPath('whole_answer');
  const [row] = await context.db.query(statementOf(plan, given, context), given.values);
  const bytes = (row?.size ?? 0) + ENVELOPE_BYTES;
  if (row?.data == null && bytes > context.maxResponseBytes)
    throw answerTooLarge(bytes, context.maxResponseBytes);
  return row?.data == null ? undefined : withCursors(row.data);
}
