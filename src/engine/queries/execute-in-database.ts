import {
  type DocumentNode,
  type ExecutionArgs,
  type FieldNode,
  Kind,
  type OperationDefinitionNode,
  type VariableValues,
} from 'graphql';
import type { UnverifiedSession } from '../../auth/authenticate.ts';
import type { Scope } from '../../auth/scopes.ts';
import { SmallMap } from '../../platform/cache.ts';
import { responseTooLarge } from '../../platform/errors.ts';
import { type Context, callerNotVerified, recordFallback } from '../core/context.ts';
import { permissionsOf, scopesForAll } from '../core/permissions.ts';
import { choiceOf, collectFields, hasTooManyFields, variablesOf } from '../core/selection.ts';
import { SNAPSHOT_NAME } from '../events/event-log.ts';
import { queryWritten } from './page-statement.ts';
import { type Given, type PlanArguments, type PlanSql, resolveArguments } from './plan/arguments.ts';
import { countConnectionValues, type FieldPlan, objectsOf, type RootMember } from './plan/plan.ts';
import { planField } from './plan/plan-field.ts';
import { buildBoundedSql, mostBytes } from './plan/response-size.ts';
import { withCursors } from './plan/sql-fragments.ts';
import { buildSql } from './plan/sql-statement.ts';
import { cachedStatement, type JsonRow, type JsonStatement, nextPlanId } from './plan/statement-cache.ts';
import { isToMany } from './sql-mappings.ts';

interface FullQueryPlan {
  readonly id: number;
  /** All root fields, in the order of the response. */
  readonly fields: Fields;
  readonly members: readonly RootMember[];
  readonly roots: readonly FieldPlan[];
  /** If the caller lacks the scope of a root field, resolvers reject the fields one by one. */
  readonly scopesByRoot: ReadonlyMap<FieldPlan, ReadonlySet<Scope>>;
  readonly scopes: readonly Scope[];
  /** The reason why resolvers execute the other root fields, if there are others. */
  readonly reason: string | undefined;
  /** True if all requests have equal arguments: no variables, and no row or value that depends on the caller. */
  readonly alike: boolean;
  /** Set if `alike`. */
  known: FullQueryArguments | undefined;
}

/** Field nodes by response name. */
type Fields = ReadonlyMap<string, readonly FieldNode[]>;

interface FullQueryArguments extends PlanArguments {
  readonly members: readonly RootMember[];
  readonly maxBytes: number;
}

declare module '../core/selection.ts' {
  interface OperationPlans {
    /** The keys are the values of @skip and @include variables. A string is the reason why there is no plan. */
    fullQueries?: SmallMap<string, FullQueryPlan | string>;
  }
}

const MAX_PLANS = 16;

export const responseWith = (data: string): string => `{"data":${data}}`;

const ENVELOPE_BYTES = responseWith('').length;

/** @returns false if one of the fields needs a session */
function addScopes(scopes: Set<Scope>, plan: FieldPlan): boolean {
  if (permissionsOf(plan.field).session === true) return false;
  for (const scope of scopesForAll(plan.field)) scopes.add(scope);
  return objectsOf(plan).every(({ fieldPlans, scopes: own }) => {
    for (const needed of own) scopes.add(needed);
    return [...fieldPlans.values()].every((mapping) => addScopes(scopes, mapping));
  });
}

/**
 * Counts the subqueries that are not for a field with a selection: each value of `pageInfo`, each `totalCount`, and each
 * type but one of a node.
 */
function countOtherSubqueries(plans: Iterable<FieldPlan>): number {
  let count = 0;
  for (const { connection, object, types } of plans) {
    if (connection !== undefined) count += countConnectionValues(connection);
    if (object !== undefined) count += countOtherSubqueries(object.fieldPlans.values());
    if (types === undefined) continue;
    count += types.length - 1;
    for (const { fieldPlans } of types) count += countOtherSubqueries(fieldPlans.values());
  }
  return count;
}

function isOfCaller(plan: FieldPlan): boolean {
  if (plan.mapping.kind === 'value') return plan.mapping.ofCaller === true;
  return objectsOf(plan).some(({ fieldPlans }) => [...fieldPlans.values()].some(isOfCaller));
}

const TOO_MANY_FIELDS = 'the operation has too many nested fields for one statement';

/** Returns the reason if the database can write no root field. */
function planOperation(
  { schema }: ExecutionArgs,
  { operation, selectionSet, variableDefinitions = [] }: OperationDefinitionNode,
  variableValues: VariableValues,
  { plans }: Context,
): FullQueryPlan | string {
  const root = schema.getRootType(operation);
  if (root == null || hasTooManyFields(plans)) return TOO_MANY_FIELDS;
  let reason: string | undefined;
  const recordFirst = (given: string) => {
    reason ??= given;
    return undefined;
  };
  const info = { schema, fragments: plans.fragments, variableValues, recordFallback: recordFirst };
  const fields = collectFields(info, root, [selectionSet]);
  const members: RootMember[] = [];
  const scopesByRoot = new Map<FieldPlan, ReadonlySet<Scope>>();
  for (const [name, fieldNodes] of fields) {
    const fieldName = fieldNodes[0]?.name.value ?? '';
    if (fieldName === '__typename') {
      members.push({ name, kind: 'typename', type: root.name });
      continue;
    }
    const field = root.getFields()[fieldName];
    const plan = field === undefined ? undefined : planField(info, field, fieldNodes);
    const needed = new Set<Scope>();
    if (plan === undefined || !addScopes(needed, plan)) {
      recordFirst(`${root.name}.${fieldName} has no "sql", or needs a session`);
      continue;
    }
    members.push({ name, kind: 'mapped', plan });
    scopesByRoot.set(plan, needed);
  }
  const roots = [...scopesByRoot.keys()];
  if (hasTooManyFields(plans, countOtherSubqueries(roots))) return TOO_MANY_FIELDS;
  if (roots.length === 0 && members.length < fields.size) return reason ?? 'nothing is selected';
  const alike =
    variableDefinitions.length === 0 && roots.every((root) => isToMany(root.mapping) && !isOfCaller(root));
  const scopes = [...new Set([...scopesByRoot.values()].flatMap((needed) => [...needed]))];
  return { id: nextPlanId(), fields, members, roots, scopesByRoot, scopes, reason, alike, known: undefined };
}

function cachedPlan(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  variables: VariableValues,
  context: Context,
): FullQueryPlan | undefined {
  const { plans } = context;
  const key = choiceOf(plans.conditions, variables);
  if (key === undefined) return recordFallback(context, 'a condition is not a Boolean');
  plans.fullQueries ??= new SmallMap(MAX_PLANS);
  let found = plans.fullQueries.get(key);
  if (found === undefined) {
    found = planOperation(args, operation, variables, context);
    plans.fullQueries.set(key, found);
  }
  return typeof found === 'string' ? recordFallback(context, found) : found;
}

/**
 * Resolvers execute fields without SQL, fields for which the caller lacks a scope, and fields with arguments that are
 * invalid or name no row. They report the usual errors.
 * @returns undefined if resolvers execute all root fields
 */
export function planFullQuery(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): { readonly plan: FullQueryPlan; readonly given: FullQueryArguments } | undefined {
  const variables = variablesOf(args, operation);
  if (variables === undefined) return recordFallback(context, 'a variable is invalid');
  const plan = cachedPlan(args, operation, variables, context);
  if (plan === undefined) return undefined;
  if (plan.reason !== undefined) recordFallback(context, plan.reason);
  const lacks = (scope: Scope) => !context.caller.scopes.has(scope);
  const missing = plan.scopes.find(lacks);
  if (missing !== undefined) recordFallback(context, `the caller lacks the scope ${missing}`);
  else if (plan.known !== undefined) return { plan, given: plan.known };
  const isRejected = (root: FieldPlan) =>
    missing !== undefined && [...(plan.scopesByRoot.get(root) ?? [])].some(lacks);
  const resolved = resolveArguments(plan.roots, variables, context, isRejected);
  const isComplete = resolved.written.size === plan.roots.length;
  const members = isComplete
    ? plan.members
    : plan.members.filter((member) => member.kind === 'typename' || resolved.written.has(member.plan));
  if (resolved.written.size === 0 && members.length < plan.fields.size) return undefined;
  const given = { ...resolved, members, maxBytes: mostBytes(members, resolved) + ENVELOPE_BYTES };
  if (plan.alike && isComplete) plan.known = given;
  return { plan, given };
}

function typeNames({ members }: FullQueryArguments): string {
  const named = members.flatMap((member) =>
    member.kind === 'typename' ? `${JSON.stringify(member.name)}:${JSON.stringify(member.type)}` : [],
  );
  return `{${named.join()}}`;
}

/** These functions are outside `verifyingSql`, so that a cached statement references no request. */
const fromCaller =
  (index: number) =>
  ({ caller }: Given) =>
    caller?.[index] ?? null;

/** The caller's session is verified in the snapshot of the response. */
function verifyingSql({ check }: UnverifiedSession, { add }: PlanSql): string {
  const numbers = check.values.map((_, index) => add(fromCaller(index)));
  return `${check.sql(...numbers)} AS caller`;
}

const besides = (rows: string, columns: readonly string[]): string =>
  columns.length === 0 ? rows : `SELECT w.*, ${columns.join(', ')} FROM (${rows}) AS w`;

/** The statement measures a response that may be too large. */
function statementOf(
  { id, roots }: FullQueryPlan,
  given: FullQueryArguments,
  { maxResponseBytes, onSnapshot }: Context,
  unverifiedSession: UnverifiedSession | undefined,
): JsonStatement {
  const { members } = given;
  const bounded = given.maxBytes > maxResponseBytes;
  return cachedStatement(
    id,
    given,
    `${given.shape}${bounded ? ';bounded' : ''}${unverifiedSession === undefined ? '' : `;${unverifiedSession.check.kind}`}${onSnapshot === undefined ? '' : ';snapshot'}`,
    () => `whole_${roots[0]?.field.name}`,
    (sql) => {
      const rows = bounded
        ? buildBoundedSql(members, sql, maxResponseBytes - ENVELOPE_BYTES)
        : buildSql(members, sql);
      return besides(rows, [
        ...(unverifiedSession === undefined ? [] : [verifyingSql(unverifiedSession, sql)]),
        ...(onSnapshot === undefined ? [] : [`${SNAPSHOT_NAME} AS snapshot`]),
      ]);
    },
  );
}

/** Verifies the caller's session, if it is unverified. Throws `callerNotVerified`, DatabaseError. */
async function read(
  plan: FullQueryPlan,
  given: FullQueryArguments,
  context: Context,
): Promise<JsonRow | undefined> {
  const unverifiedSession = context.unverifiedSession?.isPending ? context.unverifiedSession : undefined;
  const values =
    unverifiedSession === undefined ? given : { ...given, caller: unverifiedSession.check.values };
  const [row] = await queryWritten(context.db, statementOf(plan, given, context, unverifiedSession), values);
  if (unverifiedSession !== undefined && !unverifiedSession.verify(row?.caller ?? null))
    throw callerNotVerified();
  await context.onSnapshot?.(row?.snapshot ?? null);
  return row;
}

export interface LeftPart {
  readonly document: DocumentNode;
  /** The names of all root fields, in the order of the response. */
  readonly names: readonly string[];
}

function leftPart(
  { fields }: FullQueryPlan,
  { members }: FullQueryArguments,
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

/**
 * Renders a query, or some of its root fields, with at most one statement, which writes the `data` of the response.
 * The service then parses, resolves and serialises nothing.
 * @returns the response, and the part that resolvers execute, if any; undefined if the database can write no root field.
 * An execution then responds with its usual errors.
 * @throws {DatabaseError}
 * @throws {ApiError} COMPLEXITY_LIMIT if the response is too large
 */
export async function renderInDatabase(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): Promise<{ readonly response: string; readonly left: LeftPart | undefined } | undefined> {
  const planned = planFullQuery(args, operation, context);
  if (planned === undefined) return undefined;
  const { plan, given } = planned;
  context.onPath('database_response');
  const left = leftPart(plan, given, operation, context);
  if (plan.roots.length === 0) return { response: responseWith(typeNames(given)), left };
  const row = await read(plan, given, context);
  const bytes = (row?.size ?? 0) + ENVELOPE_BYTES;
  if (row?.data == null && bytes > context.maxResponseBytes)
    throw responseTooLarge(bytes, context.maxResponseBytes);
  if (row?.data == null) return recordFallback(context, 'a row is missing');
  return { response: responseWith(withCursors(row.data)), left };
}
