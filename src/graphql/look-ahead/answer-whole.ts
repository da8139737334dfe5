import type { ExecutionArgs, OperationDefinitionNode } from 'graphql';
import { type Context, declined } from '../context.ts';
import { answerTooLarge } from '../errors.ts';
import { queryWritten } from '../read/written-statement.ts';
import { withCursors } from './cursor-json.ts';
import { buildBoundedSql } from './size.ts';
import { buildSql } from './statement.ts';
import { cachedStatement, type JsonStatement } from './statement-cache.ts';
import {
  ENVELOPE_BYTES,
  planWhole,
  responseWith,
  type WholeArguments,
  type WholePlan,
} from './whole-plan.ts';

/** The `data` of a query that reads nothing. */
function typeNames({ members }: WholePlan): string {
  const named = members.flatMap((member) =>
    member.kind === 'typename' ? `${JSON.stringify(member.name)}:${JSON.stringify(member.type)}` : [],
  );
  return `{${named.join()}}`;
}

/** If the response may be too large, the statement measures it. */
function statementOf(
  { id, members, roots }: WholePlan,
  given: WholeArguments,
  { maxResponseBytes }: Context,
): JsonStatement {
  const bounded = given.maxBytes > maxResponseBytes;
  return cachedStatement(
    id,
    given,
    bounded ? `${given.shape};bounded` : given.shape,
    () => `whole_${roots[0]?.field.name}`,
    (sql) =>
      bounded
        ? buildBoundedSql(members, sql, 'whole', maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(members, sql, 'whole'),
  );
}

/**
 * Answers a query with at most one statement, which writes the `data` of the response itself: nothing is parsed,
 * resolved or serialised on the way. Undefined if the query cannot be planned so: an execution then answers it, with its
 * usual errors. Throws DatabaseError, and COMPLEXITY_LIMIT if the response is too large.
 */
export async function answerWhole(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): Promise<string | undefined> {
  const planned = planWhole(args, operation, context);
  if (planned === undefined) return undefined;
  const { plan, given } = planned;
  context.onPath('whole_answer');
  if (plan.roots.length === 0) return responseWith(typeNames(plan));
  const [row] = await queryWritten(context.db, statementOf(plan, given, context), given);
  const bytes = (row?.size ?? 0) + ENVELOPE_BYTES;
  if (row?.data == null && bytes > context.maxResponseBytes)
    throw answerTooLarge(bytes, context.maxResponseBytes);
  return row?.data == null ? declined(context, 'a row is missing') : responseWith(withCursors(row.data));
}
