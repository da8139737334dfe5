import type { FieldNode, GraphQLField, GraphQLResolveInfo } from 'graphql';
import type { Scope } from '../../auth/scopes.ts';
import { SmallMap } from '../../platform/small-map.ts';
import type { Context } from '../context.ts';
import { exceeded } from '../errors.ts';
import { isTooWide } from '../operation-plans.ts';
import { queryWritten } from '../read/written-statement.ts';
import { resolveArguments } from './arguments.ts';
import { choiceOf } from './conditions.ts';
import { decode } from './decode.ts';
import type { EdgePlan } from './plan.ts';
import { planEdge } from './plan-edge.ts';
import { buildBoundedSql, mostBytes } from './size.ts';
import { buildSql } from './statement.ts';
import { cachedStatement, nextPlanId } from './statement-cache.ts';

/** The plan of a root field that is read ahead. */
interface AheadPlan {
  readonly id: number;
  readonly plan: EdgePlan;
  /** The scopes that the plan depends on. */
  readonly scopes: readonly Scope[];
}

/**
 * The plans of one root field, by the values of the operation's @skip and @include variables and the scopes that the
 * caller lacks.
 */
type AheadPlans = SmallMap<string, AheadPlan | 'declined'>;

declare module '../operation-plans.ts' {
  interface OperationPlans {
    /** By the field's first node. Per operation: operations can share a fragment and add their own fields. */
    ahead?: Map<FieldNode, AheadPlans>;
  }
}

const MAX_PLANS = 16;
/** JSON read ahead has its own names and one extra row per connection: at most about twice the response. */
const MAX_AHEAD_ANSWERS = 2;

function planOf(
  field: GraphQLField<unknown, unknown>,
  info: GraphQLResolveInfo,
  { plans, caller }: Pick<Context, 'plans' | 'caller'>,
): AheadPlan | undefined {
  const [node] = info.fieldNodes;
  if (node === undefined || isTooWide(plans)) return undefined;
  plans.ahead ??= new Map();
  let cache = plans.ahead.get(node);
  if (cache === undefined) {
    cache = new SmallMap(MAX_PLANS);
    plans.ahead.set(node, cache);
  }
  const key = choiceOf(plans.conditions, info.variableValues);
  if (key === undefined) return undefined;
  const complete = cachedPlan(cache, key, field, info, []);
  const lacked = complete?.scopes.filter((scope) => !caller.scopes.has(scope)) ?? [];
  return lacked.length === 0 ? complete : cachedPlan(cache, `${key}-${lacked.join()}`, field, info, lacked);
}

/** The plan for callers who lack these scopes, made if it is not cached. Undefined if look-ahead declines. */
function cachedPlan(
  plans: AheadPlans,
  key: string,
  field: GraphQLField<unknown, unknown>,
  info: GraphQLResolveInfo,
  lacked: readonly Scope[],
): AheadPlan | undefined {
  let cached = plans.get(key);
  if (cached === undefined) {
    const needed = new Set<Scope>();
    const permissions = { lacked: new Set(lacked), needed };
    const plan = planEdge({ ...info, form: 'ahead', permissions }, field, info.fieldNodes);
    cached = plan === undefined ? 'declined' : { id: nextPlanId(), plan, scopes: [...needed] };
    plans.set(key, cached);
  }
  return cached === 'declined' ? undefined : cached;
}

/**
 * Reads a root field with its whole selection in one statement: only selected columns, with nested lists
 * limited in the database, and nothing that the caller lacks the scope for. Returns what the field's resolver
 * would return, with the values read ahead on the rows. Undefined if look-ahead declines and leaves the field to
 * its resolver. Throws DatabaseError, and COMPLEXITY_LIMIT if the result is too large.
 */
export async function readAhead(
  context: Context,
  info: GraphQLResolveInfo,
): Promise<{ readonly value: unknown } | undefined> {
  const field = info.parentType.getFields()[info.fieldName];
  const cached = field === undefined ? undefined : planOf(field, info, context);
  if (cached === undefined) return undefined;
  const { plan } = cached;
  // The row of an event has been read already.
  if (plan.edge.kind === 'event') return undefined;
  const given = resolveArguments([plan], info.variableValues, context);
  if (!given.edges.has(plan)) return undefined;
  const roots = [{ name: info.fieldName, kind: 'edge' as const, plan }];
  const maxBytes = MAX_AHEAD_ANSWERS * context.maxResponseBytes;
  const bounded = mostBytes(roots, given, 'ahead') > maxBytes;
  const found = cachedStatement(
    cached.id,
    given,
    bounded ? `${given.shape};bounded` : given.shape,
    () => `ahead_${info.fieldName}`,
    (sql) => (bounded ? buildBoundedSql(roots, sql, 'ahead', maxBytes) : buildSql(roots, sql, 'ahead')),
  );
  const [row] = await queryWritten(context.db, found, given);
  if (row?.data == null && row?.size !== undefined && row.size > maxBytes)
    throw exceeded('COMPLEXITY_LIMIT', 'A database result of at least', row.size, maxBytes, ' bytes');
  const json: unknown = row?.data == null ? null : JSON.parse(row.data);
  return { value: decode(plan, json, given.edges) };
}
