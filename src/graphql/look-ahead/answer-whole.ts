import type { ExecutionArgs, OperationDefinitionNode } from 'graphql';
import type { Provisional } from '../../auth/provisional.ts';
import { SNAPSHOT_NAME } from '../../events/log.ts';
import { type Context, declined, notConfirmed } from '../context.ts';
import { answerTooLarge } from '../errors.ts';
import { queryWritten } from '../read/written-statement.ts';
import type { Given, PlanSql } from './arguments.ts';
import { withCursors } from './cursor-json.ts';
import { buildBoundedSql } from './size.ts';
import { buildSql } from './statement.ts';
import { cachedStatement, type JsonRow, type JsonStatement } from './statement-cache.ts';
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

/** The values that confirm the caller. These are outside `confirmingSql` so that the statement does not hold its request. */
const fromCaller =
  (index: number) =>
  ({ caller }: Given) =>
    caller?.[index] ?? null;

/** The SQL of what they say of the caller in the same snapshot. */
function confirmingSql({ check }: Provisional, { add }: PlanSql): string {
  const numbers = check.values.map((_, index) => add(fromCaller(index)));
  return `${check.sql(...numbers)} AS caller`;
}

/** The same rows, and what else is to be read in the same snapshot. */
const besides = (rows: string, columns: readonly string[]): string =>
  columns.length === 0 ? rows : `SELECT w.*, ${columns.join(', ')} FROM (${rows}) AS w`;

/** If the response may be too large, the statement measures it. */
function statementOf(
  { id, members, roots }: WholePlan,
  given: WholeArguments,
  { maxResponseBytes, onSnapshot }: Context,
  provisional: Provisional | undefined,
): JsonStatement {
  const bounded = given.maxBytes > maxResponseBytes;
  return cachedStatement(
    id,
    given,
    `${given.shape}${bounded ? ';bounded' : ''}${provisional === undefined ? '' : `;${provisional.check.kind}`}${onSnapshot === undefined ? '' : ';snapshot'}`,
    () => `whole_${roots[0]?.field.name}`,
    (sql) => {
      const rows = bounded
        ? buildBoundedSql(members, sql, 'whole', maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(members, sql, 'whole');
      return besides(rows, [
        ...(provisional === undefined ? [] : [confirmingSql(provisional, sql)]),
        ...(onSnapshot === undefined ? [] : [`${SNAPSHOT_NAME} AS snapshot`]),
      ]);
    },
  );
}

/** Reads a response and has the caller confirmed, if that remains to be done. Throws `notConfirmed`, DatabaseError. */
async function read(plan: WholePlan, given: WholeArguments, context: Context): Promise<JsonRow | undefined> {
  const provisional = context.provisional?.isOpen ? context.provisional : undefined;
  const values = provisional === undefined ? given : { ...given, caller: provisional.check.values };
  const [row] = await queryWritten(context.db, statementOf(plan, given, context, provisional), values);
  if (provisional !== undefined && !provisional.settle(row?.caller ?? null)) throw notConfirmed();
  await context.onSnapshot?.(row?.snapshot ?? null);
  return row;
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
  const row = await read(plan, given, context);
  const bytes = (row?.size ?? 0) + ENVELOPE_BYTES;
  if (row?.data == null && bytes > context.maxResponseBytes)
    throw answerTooLarge(bytes, context.maxResponseBytes);
  return row?.data == null ? declined(context, 'a row is missing') : responseWith(withCursors(row.data));
}
