import { type DocumentNode, type ExecutionArgs, Kind, type OperationDefinitionNode } from 'graphql';
import type { Provisional } from '../../auth/provisional.ts';
import { SNAPSHOT_NAME } from '../../events/log.ts';
import { type Context, declined, notConfirmed } from '../context.ts';
import { answerTooLarge } from '../errors.ts';
import { queryWritten } from '../read/written-statement.ts';
import type { Given, PlanSql } from './arguments.ts';
import { withCursors } from './json-text.ts';
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
function typeNames({ members }: WholeArguments): string {
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
  { id, roots }: WholePlan,
  given: WholeArguments,
  { maxResponseBytes, onSnapshot }: Context,
  provisional: Provisional | undefined,
): JsonStatement {
  const { members } = given;
  const bounded = given.maxBytes > maxResponseBytes;
  return cachedStatement(
    id,
    given,
    `${given.shape}${bounded ? ';bounded' : ''}${provisional === undefined ? '' : `;${provisional.check.kind}`}${onSnapshot === undefined ? '' : ';snapshot'}`,
    () => `whole_${roots[0]?.field.name}`,
    (sql) => {
      const rows = bounded
        ? buildBoundedSql(members, sql, maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(members, sql);
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

/** The part of an operation that the database does not write. */
export interface LeftPart {
  /** The document with the root fields that are left. */
  readonly document: DocumentNode;
  /** The names of all root fields, in the order of the response. */
  readonly names: readonly string[];
}

function leftPart(
  { fields }: WholePlan,
  { members }: WholeArguments,
  operation: OperationDefinitionNode,
  { plans }: Context,
): LeftPart | undefined {
  if (members.length === fields.size) return undefined;
  const written = new Set(members.map(({ name }) => name));
  const selections = [...fields].flatMap(([name, nodes]) => (written.has(name) ? [] : nodes));
  const left: OperationDefinitionNode = {
    ...operation,
    selectionSet: { kind: Kind.SELECTION_SET, selections },
  };
  return {
    document: { kind: Kind.DOCUMENT, definitions: [left, ...Object.values(plans.fragments)] },
    names: [...fields.keys()],
  };
}

/** What the database writes of a response. */
export interface DatabaseAnswer {
  /** The response in JSON. */
  readonly response: string;
  /** What resolvers have to add; undefined if the response is complete. */
  readonly left: LeftPart | undefined;
}

/**
 * Answers a query, or some of its root fields, with at most one statement, which writes the `data` of the response itself:
 * nothing is parsed, resolved or serialised on the way. Undefined if no root field can be answered so: an execution then
 * answers, with its usual errors.
 *
 * @throws {DatabaseError}
 * @throws {ApiError} COMPLEXITY_LIMIT if the response is too large.
 */
export async function answerWhole(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): Promise<DatabaseAnswer | undefined> {
  const planned = planWhole(args, operation, context);
  if (planned === undefined) return undefined;
  const { plan, given } = planned;
  context.onPath('whole_answer');
  const left = leftPart(plan, given, operation, context);
  if (plan.roots.length === 0) return { response: responseWith(typeNames(given)), left };
  const row = await read(plan, given, context);
  const bytes = (row?.size ?? 0) + ENVELOPE_BYTES;
  if (row?.data == null && bytes > context.maxResponseBytes)
    throw answerTooLarge(bytes, context.maxResponseBytes);
  if (row?.data == null) return declined(context, 'a row is missing');
  return { response: responseWith(withCursors(row.data)), left };
}
