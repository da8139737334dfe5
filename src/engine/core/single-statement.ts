import {
  type ExecutionArgs,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  isLeafType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { type Parameter, type Statement, statement } from '../../database/statement.ts';
import type { Context } from './context.ts';
import { maxJsonBytes } from './field-options.ts';
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

interface InsertStatement {
  readonly plain: Statement<Inserted>;
  /**
   * Runs behind the lock of a key, whose parameters begin with number `first`. The statement returns no row if nothing
   * was written.
   */
  keyed(lock: KeyLockSql, first: number): Statement<Inserted>;
}

const part = (name: string, sql: string) => `${name} AS (${sql})`;

export interface AlsoWritten {
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
export function insertStatement(
  label: string,
  insert: string,
  { columns = [], parts: also }: AlsoWritten,
): InsertStatement {
  const row = 'inserted';
  const compose = (before: readonly string[], source: string) => {
    const parts = [
      ...before,
      part(row, `${insert} ${source} RETURNING ${['id', 'created_at', ...columns].join(', ')}`),
      ...Object.entries(also).map(([name, sql]) => part(name, sql(row))),
    ];
    return `WITH ${parts.join(', ')} SELECT created_at AS "createdAt" FROM ${row}`;
  };
  const known = new WeakMap<KeyLockSql, Statement<Inserted>>();
  return {
    plain: statement(label, compose([], '')),
    keyed(lock, first) {
      let found = known.get(lock);
      if (found === undefined) {
        const key = `key AS MATERIALIZED (SELECT ${lock.take(first)} AS locked)`;
        const stored = part('stored', lock.store(first, 'FROM key WHERE locked'));
        found = statement(`${label}_keyed`, compose([key, stored], 'FROM stored'));
        known.set(lock, found);
      }
      return found;
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
 * @returns undefined for arguments that need several statements, so that the resolver runs
 * @throws {ApiError} BAD_USER_INPUT
 */
export type SingleStatement = (
  args: Record<string, unknown>,
  context: Pick<Context, 'caller'>,
) => Insert | undefined;

interface PayloadMember {
  /** The response name as JSON, with its colon. */
  readonly prefix: string;
  readonly shows: string | { readonly property: string; readonly type: GraphQLLeafType };
  readonly maxBytes: number;
}

interface SingleStatementPlan {
  /** The response name as JSON, with its colon. */
  readonly prefix: string;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly insert: SingleStatement;
  readonly members: readonly PayloadMember[];
  /** The maximum size of the response, because the actual size is known only after the commit. */
  readonly maxBytes: number;
}

declare module './selection.ts' {
  interface OperationPlans {
    singleStatement?: SingleStatementPlan | 'unsupported';
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

function planMembers(type: unknown, node: FieldNode): PayloadMember[] | undefined {
  if (!isObjectType(type)) return undefined;
  const members = new Map<string, PayloadMember>();
  for (const selection of node.selectionSet?.selections ?? []) {
    if (!isPlain(selection)) return undefined;
    const prefix = formatPrefix(selection);
    if (selection.name.value === '__typename') {
      const typename = JSON.stringify(type.name);
      members.set(prefix, { prefix, shows: typename, maxBytes: typename.length });
    } else {
      const field = type.getFields()[selection.name.value];
      const property = field?.extensions.pothosExposedField;
      const leaf = field && getNullableType(field.type);
      if (field === undefined || typeof property !== 'string' || !isLeafType(leaf)) return undefined;
      const shows = SET_BY_DATABASE.has(property) ? QUOTED_PLACEHOLDER : { property, type: leaf };
      members.set(prefix, { prefix, shows, maxBytes: maxJsonBytes(field) });
    }
  }
  return [...members.values()];
}

/**
 * Plans a mutation with one root field that writes with one statement and selects only columns of its row. Such a
 * statement needs no explicit transaction, because PostgreSQL commits it atomically.
 */
function planOperation(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): SingleStatementPlan | undefined {
  const [node, ...others] = operation.selectionSet.selections;
  if (node === undefined || !isPlain(node) || others.length > 0) return undefined;
  const field = schema.getMutationType()?.getFields()[node.name.value];
  const insert = field?.extensions.singleStatement as SingleStatement | undefined;
  // An error in a non-null field leaves no data at all.
  if (field === undefined || insert === undefined || !isNonNullType(field.type)) return undefined;
  const members = planMembers(field.type.ofType, node);
  if (members === undefined) return undefined;
  const prefix = formatPrefix(node);
  let maxBytes = prefix.length + PUNCTUATION;
  for (const member of members) maxBytes += member.prefix.length + member.maxBytes + PUNCTUATION;
  return { prefix, field, node, insert, members, maxBytes };
}

export interface ReadyInsert extends Insert {
  readonly field: string;
  /** The `data` of the response, with TIMESTAMP_PLACEHOLDER for timestamps that the database sets. */
  readonly data: string;
}

function formatData({ prefix, members }: SingleStatementPlan, row: object): string {
  const columns = row as Record<string, unknown>;
  const payload = members.map(({ prefix: name, shows }) => {
    if (typeof shows === 'string') return name + shows;
    const value = columns[shows.property];
    if (value === undefined) throw new Error(`the value of ${shows.property} is not known beforehand`);
    return name + JSON.stringify(shows.type.coerceOutputValue(value));
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
  context: Pick<Context, 'plans' | 'caller' | 'maxResponseBytes'>,
): ReadyInsert | undefined {
  const { plans, caller, maxResponseBytes } = context;
  plans.singleStatement ??= planOperation(args.schema, operation) ?? 'unsupported';
  const plan = plans.singleStatement;
  if (plan === 'unsupported' || plan.maxBytes > maxResponseBytes) return undefined;
  const variables = variablesOf(args, operation);
  if (variables === undefined) return undefined;
  const given = getArgumentValues(plan.field, plan.node, variables);
  requirePermissions(caller, permissionsOf(plan.field), fieldNamed(plan.field));
  const ready = plan.insert(given, context);
  if (ready === undefined) return undefined;
  return { ...ready, field: plan.field.name, data: formatData(plan, ready.row) };
}
