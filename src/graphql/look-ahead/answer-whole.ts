import type { ExecutionArgs, OperationDefinitionNode, VariableValues } from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { type Context, declined } from '../context.ts';
import { answerTooLarge } from '../errors.ts';
import { queryWritten } from '../read/written-statement.ts';
import { type PlanArguments, resolveArguments } from './arguments.ts';
import { withCursors } from './cursor-json.ts';
import { isToMany } from './edge.ts';
import type { EdgePlan, RootMember } from './plan.ts';
import { buildBoundedSql, mostBytes } from './size.ts';
import { buildSql } from './statement.ts';
import { cachedStatement, type JsonStatement, nextPlanId } from './statement-cache.ts';
import {
  cachedPlan,
  coercedVariables,
  holdsScopes,
  type PlanCache,
  planCache,
  planRoots,
  type RootPlans,
} from './whole-plan.ts';

interface WholeArguments extends PlanArguments {
  /** Whether the response may be too large, so the statement measures it. */
  readonly bounded: boolean;
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

/** The bytes of a response around its `data`. */
const ENVELOPE_BYTES = '{"data":}'.length;

/** The arguments of a request; undefined if one is invalid or names no row. */
function argumentsOf(
  { members, roots }: WholePlan,
  variables: VariableValues,
  context: Context,
): WholeArguments | undefined {
  const given = resolveArguments(roots, variables, context);
  if (given.invalid !== undefined) return declined(context, given.invalid);
  const bounded = mostBytes(members, given, 'whole') > context.maxResponseBytes - ENVELOPE_BYTES;
  return { ...given, bounded };
}

function statementOf(
  { id, members, roots }: WholePlan,
  given: WholeArguments,
  { maxResponseBytes }: Context,
): JsonStatement {
  const { shape, bounded } = given;
  return cachedStatement(
    id,
    given,
    bounded ? `${shape};bounded` : shape,
    () => `whole_${roots[0]?.field.name}`,
    (sql) =>
      bounded
        ? buildBoundedSql(members, sql, 'whole', maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(members, sql, 'whole'),
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
  if (variables === undefined) return declined(context, 'a variable is invalid');
  const plan = cachedPlan(plans.whole, variables, context, (decline) => {
    const root = args.schema.getQueryType();
    const planned = planRoots(root, { args, operation, variables, plans, decline });
    return planned && planQuery(planned, operation);
  });
  if (plan === undefined || !holdsScopes(context, plan)) return undefined;
  if (plan.roots.length === 0) {
    context.onPath('whole_answer');
    return typeNames(plan);
  }
  const given = plan.known ?? argumentsOf(plan, variables, context);
  if (given === undefined) return undefined;
  if (plan.alike) plan.known = given;
  context.onPath('whole_answer');
  const [row] = await queryWritten(context.db, statementOf(plan, given, context), given);
  const bytes = (row?.size ?? 0) + ENVELOPE_BYTES;
  if (row?.data == null && bytes > context.maxResponseBytes)
    throw answerTooLarge(bytes, context.maxResponseBytes);
  return row?.data == null ? declined(context, 'a row is missing') : withCursors(row.data);
}
