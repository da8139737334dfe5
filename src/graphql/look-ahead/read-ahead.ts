import { type FieldNode, type GraphQLField, type GraphQLResolveInfo, getArgumentValues } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Context } from '../context.ts';
import { exceeded } from '../errors.ts';
import type { OperationPlans } from '../operation-plans.ts';
import { isTooWide } from '../width.ts';
import { choiceOf, conditionVariables } from './conditions.ts';
import { decode } from './decode.ts';
import { isToMany } from './edge.ts';
import { type EdgePlan, planEdge } from './plan.ts';
import { buildBoundedSql, mostBytes } from './size.ts';
import { buildSql, pageParameters, resolvePages } from './statement.ts';
import { cachedStatement, nextPlanId } from './statement-cache.ts';

/** A root field that is read ahead of its resolvers. */
interface AheadPlan {
  readonly id: number;
  readonly plan: EdgePlan;
}

/** The plans of one root field, by the variables that skip or include parts of it. */
interface AheadPlans {
  readonly conditions: readonly string[];
  readonly plans: LRUCache<string, AheadPlan | 'declined'>;
}

declare module '../operation-plans.ts' {
  interface OperationPlans {
    /** By the first of the field's nodes: one fragment may stand in several operations, which add fields of their own. */
    ahead?: Map<FieldNode, AheadPlans>;
  }
}

const MAX_PLANS = 16;
/** What is read ahead has names of its own and a row more in each connection: about twice the answer at most. */
const MAX_AHEAD_ANSWERS = 2;

function planOf(
  field: GraphQLField<unknown, unknown>,
  info: GraphQLResolveInfo,
  plans: OperationPlans,
): AheadPlan | undefined {
  const [node] = info.fieldNodes;
  if (node === undefined || isTooWide(plans, info.operation, info.fragments)) return undefined;
  plans.ahead ??= new Map();
  let cache = plans.ahead.get(node);
  if (cache === undefined) {
    cache = { conditions: conditionVariables(info), plans: new LRUCache({ max: MAX_PLANS }) };
    plans.ahead.set(node, cache);
  }
  const key = choiceOf(cache.conditions, info.variableValues);
  if (key === undefined) return undefined;
  let cached = cache.plans.get(key);
  if (cached === undefined) {
    const plan = planEdge(info, field, info.fieldNodes);
    cached = plan === undefined ? 'declined' : { id: nextPlanId(), plan };
    cache.plans.set(key, cached);
  }
  return cached === 'declined' ? undefined : cached;
}

/**
 * Reads a root field with its whole selection in one statement: selected columns only, lists within lists cut in the
 * database. Returns what the field's resolver would return, with what was read ahead on the rows; undefined where
 * look-ahead declines and the resolver is to do it. Throws DatabaseError.
 */
export async function readAhead(
  context: Context,
  info: GraphQLResolveInfo,
): Promise<{ readonly value: unknown } | undefined> {
  const field = info.parentType.getFields()[info.fieldName];
  const cached = field === undefined ? undefined : planOf(field, info, context.plans);
  if (cached === undefined) return undefined;
  const { plan } = cached;
  const pages = resolvePages(plan, info.variableValues);
  const { edge } = plan;
  if (isToMany(edge) && !pages.pages.has(plan)) return undefined;
  const id =
    edge.kind === 'row'
      ? edge.id(getArgumentValues(plan.field, plan.node, info.variableValues), context)
      : undefined;
  if (edge.kind === 'row' && id === undefined) return { value: null };
  const roots = new Map([[info.fieldName, plan]]);
  const maxBytes = MAX_AHEAD_ANSWERS * context.maxResponseBytes;
  const bounded = mostBytes(roots, pages, 'ahead') > maxBytes;
  const { shape } = pages;
  const found = cachedStatement(
    cached.id,
    bounded ? `${shape};bounded` : shape,
    () => `ahead_${info.fieldName}`,
    () => (bounded ? buildBoundedSql(roots, pages, 'ahead', maxBytes) : buildSql(roots, pages, 'ahead')),
  );
  const [row] = await context.db.query(found, [...(id === undefined ? [] : [id]), ...pageParameters(pages)]);
  if (row?.data == null && row?.size !== undefined && row.size > maxBytes)
    throw exceeded('COMPLEXITY_LIMIT', 'A database result of at least', row.size, maxBytes, ' bytes');
  const json: unknown = row?.data == null ? null : JSON.parse(row.data);
  return { value: decode(plan, json, pages.pages) };
}
