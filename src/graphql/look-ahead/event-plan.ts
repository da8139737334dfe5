import type { ExecutionArgs, OperationDefinitionNode } from 'graphql';
import type { Queryable } from '../../platform/db/statement.ts';
import { type Context, declined } from '../context.ts';
import type { Entity } from '../read/entity.ts';
import type { Identified } from '../read/read.ts';
import { queryWritten } from '../read/written-statement.ts';
import type { Given } from './arguments.ts';
import { collectFields } from './collect.ts';
import { NO_VARIABLES } from './conditions.ts';
import { withCursors } from './cursor-json.ts';
import { edgeOf } from './plan-edge.ts';
import { eventsSql } from './statement.ts';
import { cachedStatement, type JsonStatement } from './statement-cache.ts';
import { planWhole, responseWith } from './whole-plan.ts';

/** One statement that writes the responses of a subscription for any number of events. */
export interface EventPlan {
  readonly written: JsonStatement;
  /** The arguments without the ids of an event's rows. */
  readonly given: Given;
  /** The maximum size of a response. */
  readonly maxBytes: number;
}

/** What the events of a subscription are about. Throws if its root field does not say. */
export function eventEntity(
  { schema }: ExecutionArgs,
  operation: OperationDefinitionNode,
  { plans }: Context,
): Entity<Identified> {
  const root = schema.getSubscriptionType();
  if (root == null) throw new Error('the schema has no subscriptions');
  const info = { fragments: plans.fragments, variableValues: NO_VARIABLES };
  // A subscription has exactly one root field (GraphQL section 5.2.3.1), without conditions.
  const [fieldNodes] = collectFields(info, root, [operation.selectionSet]).values();
  const field = root.getFields()[fieldNodes?.[0]?.name.value ?? ''];
  const edge = field === undefined ? undefined : edgeOf(field);
  if (edge?.kind !== 'event') throw new Error('the field of a subscription has no edge of kind "event"');
  return edge.entity;
}

/**
 * The plan of a subscription. It depends on the caller only in that the caller holds the scopes of all fields.
 * Undefined if it cannot be planned so, or a response may be too large: each event is then executed, with its usual errors.
 */
export function planEvents(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): EventPlan | undefined {
  const planned = planWhole(args, operation, context);
  if (planned === undefined) return undefined;
  const { plan, given } = planned;
  const [root] = plan.roots;
  if (root?.edge.kind !== 'event') return undefined;
  const { list, shape, maxBytes } = given;
  if (maxBytes > context.maxResponseBytes) return declined(context, 'a response may be too large');
  const written = cachedStatement(
    plan.id,
    given,
    shape,
    () => `events_${root.field.name}`,
    (sql) => eventsSql(plan.members, sql),
  );
  return { written, given: { list }, maxBytes };
}

/**
 * The responses for the events about these rows, in order; undefined for a row that does not exist. Throws
 * DatabaseError.
 */
export async function readEvents(
  db: Queryable,
  { written, given }: EventPlan,
  rowIds: readonly string[],
): Promise<(string | undefined)[]> {
  const rows = await queryWritten(db, written, { ...given, eventIds: rowIds });
  return rows.map(({ data }) => (data === null ? undefined : responseWith(withCursors(data))));
}
