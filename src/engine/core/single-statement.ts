import {
  type ExecutionArgs,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  isLeafType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type VariableValues,
} from 'graphql';
import { type Parameter, type Statement, statement } from '../../database/statement.ts';
import { getOrCreate } from '../../platform/cache.ts';
import { type Context, recordFallback } from './context.ts';
import { maxJsonBytes, valueNotesOf } from './field-options.ts';
import { fieldNamed, permissionsOf, requirePermissions } from './permissions.ts';
import { variablesOf } from './selection.ts';

/**
 * Stands in a response for the timestamp at which its transaction began, which only the database knows. JSON never
 * contains this character, because control characters in strings are escaped (RFC 8259, Strings).
 */
export const TIMESTAMP_PLACEHOLDER = '\u0001';

export function fillTimestamp(text: string, timestamp: Date): string {
  return text.includes(TIMESTAMP_PLACEHOLDER)
    ? text.replaceAll(TIMESTAMP_PLACEHOLDER, timestamp.toISOString())
    : text;
}

export interface Inserted {
  readonly createdAt: Date;
}

/** Timestamps of a new row; both have the time of the insertion. */
export interface TimestampedRow extends Inserted {
  readonly updatedAt: Date;
}

/** @param first the number of the first parameter */
export interface KeyLockSql {
  /** An expression that tries to take the lock until the transaction ends. */
  take(first: number): string;
  /** An INSERT that stores the response for the row of `source`, unless the key has a response. */
  store(first: number, source: string): string;
}

interface InsertStatement<Returned = object> {
  readonly plain: Statement<Inserted & Returned>;
  /**
   * Runs behind the lock of a key, whose parameters begin with number `first`. The statement returns no row if nothing
   * was written.
   */
  keyed(lock: KeyLockSql, first: number): Statement<Inserted & Returned>;
}

const part = (name: string, sql: string) => `${name} AS (${sql})`;

export interface AlsoWritten {
  /** SQL of one row, `chosen`, for the SELECT list of the INSERT. Without the row, nothing is written. */
  readonly chosen?: string;
  /** Further columns that the statement returns. */
  readonly returned?: readonly string[];
  /** The columns of the row that the parts need, in addition to `id` and `created_at`. */
  readonly columns?: readonly string[];
  readonly parts: Readonly<Record<string, (row: string) => string>>;
}

/**
 * Builds a statement whose parts each take their rows from the part before, so that all are written or none.
 * @param insert the INSERT up to its SELECT list
 * @param also SQL for each further row, with the inserted row as its source
 * @example
 * WITH key AS MATERIALIZED (SELECT CASE
 *     WHEN NOT pg_try_advisory_lock(hashtextextended($5::text, 20261124)) THEN false
 *     WHEN pg_try_advisory_xact_lock(hashtextextended($5::text, 20261121))
 *       THEN pg_advisory_unlock(hashtextextended($5::text, 20261124))
 *     ELSE NOT pg_advisory_unlock(hashtextextended($5::text, 20261124)) END AS locked),
 *   stored AS (INSERT INTO idempotency_keys AS kept (user_id, key_hash, fingerprint, status, body, session_id, scopes)
 *     SELECT $6::uuid, $7::bytea, $8::bytea, $9::smallint, $10::bytea, $11::uuid, $12::text[] FROM key WHERE locked
 *     ON CONFLICT (user_id, key_hash) DO NOTHING RETURNING 1),
 *   inserted AS (INSERT INTO posts (id, title, body, author_id) SELECT $1::uuid, $2, $3, $4::uuid FROM stored
 *     RETURNING id, created_at, author_id),
 *   event AS (INSERT INTO events (kind, root_id, part_id, owner_id, trace)
 *     SELECT 'POST_CREATED', id, NULL::uuid, author_id, nullif(current_setting('content_graph.trace', true), '') FROM inserted)
 * SELECT created_at AS "createdAt" FROM inserted
 */
export function insertStatement<Returned extends object = object>(
  label: string,
  insert: string,
  { chosen, columns = [], returned = [], parts: also }: AlsoWritten,
): InsertStatement<Returned> {
  const row = 'inserted';
  const choice = chosen === undefined ? [] : ['chosen'];
  const compose = (before: readonly string[], sources: readonly string[]) => {
    const from = [...sources, ...choice].join(', ');
    const columnsOfRow = ['id', 'created_at', ...columns, ...returned].join(', ');
    const parts = [
      ...choice.map((name) => `${name} AS MATERIALIZED (${chosen})`),
      ...before,
      part(row, `${insert} ${from === '' ? '' : `FROM ${from} `}RETURNING ${columnsOfRow}`),
      ...Object.entries(also).map(([name, sql]) => part(name, sql(row))),
    ];
    return `WITH ${parts.join(', ')} SELECT ${['created_at AS "createdAt"', ...returned].join(', ')} FROM ${row}`;
  };
  const known = new WeakMap<KeyLockSql, Statement<Inserted & Returned>>();
  return {
    plain: statement(label, compose([], [])),
    keyed(lock, first) {
      return getOrCreate(known, lock, () => {
        const key = `key AS MATERIALIZED (SELECT ${lock.take(first)} AS locked)`;
        const store = lock.store(first, `FROM ${['key', ...choice].join(', ')} WHERE locked`);
        return statement(`${label}_keyed`, compose([key, part('stored', store)], ['stored']));
      });
    },
  };
}

/** The row is known beforehand, except for columns that the database sets. */
export interface Insert<Row = object> {
  readonly statement: InsertStatement;
  readonly values: readonly Parameter[];
  readonly row: Row;
}

/**
 * @param shown the properties of the row that the response shows
 * @returns undefined for arguments that need several statements, so that the resolver runs
 * @throws {ApiError} BAD_USER_INPUT
 */
export type SingleStatement = (
  args: Record<string, unknown>,
  context: Pick<Context, 'caller'>,
  shown: ReadonlySet<string>,
) => Insert | undefined;

interface ShownValue {
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly type: GraphQLLeafType;
  /** The properties of the row that the value depends on. */
  readonly properties: readonly string[];
  /** Undefined if the value is the property. */
  readonly compute: ReturnType<typeof valueNotesOf>['compute'];
}

interface PayloadMember {
  /** The response name as JSON, with its colon. */
  readonly prefix: string;
  readonly shows: string | ShownValue;
  readonly maxBytes: number;
}

interface SingleStatementPlan {
  /** The response name as JSON, with its colon. */
  readonly prefix: string;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly insert: SingleStatement;
  readonly members: readonly PayloadMember[];
  readonly shown: ReadonlySet<string>;
  /** The maximum size of the response, because the actual size is known only after the commit. */
  readonly maxBytes: number;
}

declare module './selection.ts' {
  interface OperationPlans {
    /** A string is the reason why there is no plan. */
    singleStatement?: SingleStatementPlan | string;
  }
}

/** Bytes for comma and brackets, and for the brackets around `data`. */
const PUNCTUATION = 10;

/** The INSERT sets these properties to its timestamp. Until then, the response has placeholders. */
const SET_BY_DATABASE: ReadonlySet<string> = new Set<keyof TimestampedRow>(['createdAt', 'updatedAt']);
const QUOTED_PLACEHOLDER = `"${TIMESTAMP_PLACEHOLDER}"`;

const formatPrefix = ({ alias, name }: FieldNode) => `"${alias?.value ?? name.value}":`;

function isPlain(node: {
  readonly kind: Kind;
  readonly directives?: readonly unknown[] | undefined;
}): node is FieldNode {
  return node.kind === Kind.FIELD && (node.directives ?? []).length === 0;
}

/** @returns undefined if the value is not known before the statement is sent */
function planValue(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
): PayloadMember['shows'] | undefined {
  const { pothosExposedField: property, columns, compute } = valueNotesOf(field);
  const type = getNullableType(field.type);
  if (!isLeafType(type)) return undefined;
  if (property !== undefined && SET_BY_DATABASE.has(property)) return QUOTED_PLACEHOLDER;
  const properties = property === undefined ? columns : [property];
  if (properties === undefined || properties.some((one) => SET_BY_DATABASE.has(one))) return undefined;
  if (property === undefined && compute === undefined) return undefined;
  return { field, node, type, properties, compute };
}

/** Returns the reason if a value is not known before the statement is sent. */
function planMembers(type: GraphQLObjectType, node: FieldNode): PayloadMember[] | string {
  const members = new Map<string, PayloadMember>();
  for (const selection of node.selectionSet?.selections ?? []) {
    if (!isPlain(selection)) return 'the payload has a fragment or a directive';
    const prefix = formatPrefix(selection);
    if (selection.name.value === '__typename') {
      const typename = JSON.stringify(type.name);
      members.set(prefix, { prefix, shows: typename, maxBytes: typename.length });
      continue;
    }
    const field = type.getFields()[selection.name.value];
    const shows = field && planValue(field, selection);
    if (field === undefined || shows === undefined)
      return `${type.name}.${selection.name.value} is not known before the row is inserted`;
    members.set(prefix, { prefix, shows, maxBytes: maxJsonBytes(field) });
  }
  return [...members.values()];
}

/**
 * Plans a mutation with one root field that writes with one statement and selects only values that follow from its row.
 * Such a statement needs no explicit transaction, because PostgreSQL commits it atomically. Returns the reason if there
 * is no such statement.
 */
function planOperation(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): SingleStatementPlan | string {
  const [node, ...others] = operation.selectionSet.selections;
  if (node === undefined || !isPlain(node) || others.length > 0)
    return 'the mutation has several root fields, a fragment or a directive';
  const field = schema.getMutationType()?.getFields()[node.name.value];
  const insert = field?.extensions.singleStatement as SingleStatement | undefined;
  // An error in a non-null field leaves no data at all.
  if (
    field === undefined ||
    insert === undefined ||
    !isNonNullType(field.type) ||
    !isObjectType(field.type.ofType)
  )
    return `Mutation.${node.name.value} needs a transaction`;
  const members = planMembers(field.type.ofType, node);
  if (typeof members === 'string') return members;
  const prefix = formatPrefix(node);
  let maxBytes = prefix.length + PUNCTUATION;
  for (const member of members) maxBytes += member.prefix.length + member.maxBytes + PUNCTUATION;
  const shown = new Set(members.flatMap(({ shows }) => (typeof shows === 'string' ? [] : shows.properties)));
  return { prefix, field, node, insert, members, shown, maxBytes };
}

export interface ReadyInsert extends Insert {
  readonly field: string;
  /** The `data` of the response, with TIMESTAMP_PLACEHOLDER for timestamps that the database sets. */
  readonly data: string;
}

function computeValue(
  { field, node, properties, compute }: ShownValue,
  row: object,
  variables: VariableValues,
): unknown {
  const columns = row as Record<string, unknown>;
  const unknown = properties.find((property) => columns[property] === undefined);
  if (unknown !== undefined) throw new Error(`the value of ${unknown} is not known beforehand`);
  if (compute !== undefined) return compute(row, getArgumentValues(field, node, variables));
  return columns[properties[0] ?? ''];
}

function formatData(
  { prefix, members }: SingleStatementPlan,
  row: object,
  variables: VariableValues,
): string {
  const payload = members.map(({ prefix: name, shows }) => {
    if (typeof shows === 'string') return name + shows;
    const value = computeValue(shows, row, variables);
    return name + JSON.stringify(value === null ? null : shows.type.coerceOutputValue(value));
  });
  return `{${prefix}{${payload.join()}}}`;
}

/**
 * @returns undefined if the mutation needs an execution, its response may be too large, or a variable is invalid
 * @throws the error with which the execution would reject the mutation before writing
 */
export function readyInsert(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Pick<Context, 'plans' | 'caller' | 'maxResponseBytes' | 'trace'>,
): ReadyInsert | undefined {
  const { plans, caller, maxResponseBytes } = context;
  plans.singleStatement ??= planOperation(args.schema, operation);
  const plan = plans.singleStatement;
  if (typeof plan === 'string') return recordFallback(context, plan);
  if (plan.maxBytes > maxResponseBytes) return recordFallback(context, 'a response may be too large');
  const variables = variablesOf(args, operation);
  if (variables === undefined) return recordFallback(context, 'a variable is invalid');
  const given = getArgumentValues(plan.field, plan.node, variables);
  requirePermissions(caller, permissionsOf(plan.field), fieldNamed(plan.field));
  const ready = plan.insert(given, context, plan.shown);
  if (ready === undefined) return recordFallback(context, 'the arguments need a transaction');
  return { ...ready, field: plan.field.name, data: formatData(plan, ready.row, variables) };
}
