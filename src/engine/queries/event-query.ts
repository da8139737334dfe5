import { type ExecutionArgs, getArgumentValues, type OperationDefinitionNode } from 'graphql';
import type { Queryable } from '../../database/statement.ts';
import { type Context, recordFallback } from '../core/context.ts';
import { collectFields, NO_VARIABLES, variablesOf } from '../core/selection.ts';
import type { EventFilter, EventRecord } from '../events/event.ts';
import { planFullQuery, responseWith } from './execute-in-database.ts';
import { queryWritten } from './page-statement.ts';
import type { Given } from './plan/arguments.ts';
import { getSqlMapping } from './plan/plan-field.ts';
import { withCursors } from './plan/sql-fragments.ts';
import { eventsSql } from './plan/sql-statement.ts';
import { cachedStatement, type JsonStatement } from './plan/statement-cache.ts';
import type { EventMapping } from './sql-mappings.ts';

export interface EventPlan {
  readonly written: JsonStatement;
  /** The arguments without the events. */
  readonly given: Given;
  readonly maxBytes: number;
}

/**
 * Throws if the root field of a subscription has no events.
 * @throws {ApiError} BAD_USER_INPUT for invalid arguments
 */
export function subscribedEvents(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  { plans }: Context,
): { readonly mapping: EventMapping; readonly filter: EventFilter } {
  const root = args.schema.getSubscriptionType();
  if (root == null) throw new Error('the schema has no subscriptions');
  const info = { fragments: plans.fragments, variableValues: NO_VARIABLES };
  // A subscription has exactly one root field without conditions (GraphQL §5.2.4.1).
  const [fieldNodes] = collectFields(info, root, [operation.selectionSet]).values();
  const [node] = fieldNodes ?? [];
  const field = root.getFields()[node?.name.value ?? ''];
  const mapping = field === undefined ? undefined : getSqlMapping(field);
  if (node === undefined || field === undefined || mapping?.kind !== 'event')
    throw new Error('the field of a subscription has no "sql" of kind "event"');
  const variables = variablesOf(args, operation);
  if (variables === undefined) throw new Error('the variables of a subscription have been checked');
  return { mapping, filter: mapping.filter(getArgumentValues(field, node, variables)) };
}

/**
 * The plan depends on the caller only in that the caller holds the scopes of all fields. Undefined if the database
 * cannot write the response, or the response may be too large. Each event is then executed, with its usual errors.
 */
export function planEvents(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): EventPlan | undefined {
  const planned = planFullQuery(args, operation, context);
  if (planned === undefined) return undefined;
  const { plan, given } = planned;
  const [root] = given.written;
  if (root?.mapping.kind !== 'event') return undefined;
  const { mapping } = root;
  const { list, shape, maxBytes } = given;
  if (maxBytes > context.maxResponseBytes) return recordFallback(context, 'a response may be too large');
  const written = cachedStatement(
    plan.id,
    given,
    shape,
    () => `events_${root.field.name}`,
    (sql) => eventsSql(given.members, mapping, sql),
  );
  return { written, given: { list }, maxBytes };
}

/**
 * @returns the responses in order; undefined for an event whose row does not exist
 * @throws {DatabaseError}
 */
export async function readEvents(
  db: Queryable,
  { written, given }: EventPlan,
  events: readonly EventRecord[],
): Promise<(string | undefined)[]> {
  const rows = await queryWritten(db, written, { ...given, events });
  return rows.map(({ data }) => (data === null ? undefined : responseWith(withCursors(data))));
}
