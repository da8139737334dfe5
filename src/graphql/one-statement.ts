import {
  type ExecutionArgs,
  type FieldNode,
  type GraphQLField,
  type GraphQLLeafType,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  getVariableValues,
  isLeafType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import type { Parameter } from '../platform/db/statement.ts';
import type { Context } from './context.ts';
import { type Inserted, type InsertStatement, OPEN_INSTANT } from './insert-statement.ts';
import { maxJsonBytes } from './max-json-bytes.ts';
import type { OperationPlans } from './operation-plans.ts';
import { permissionsOf, requirePermissions } from './scope-plugin.ts';

/** A statement that inserts a row, and the row, which is known beforehand except for what the database sets. */
export interface Insert<Row = object> {
  readonly statement: InsertStatement;
  readonly values: readonly Parameter[];
  readonly row: Row;
}

/** How a mutation inserts its row. Throws BAD_USER_INPUT. */
export type OneStatement = (args: Record<string, unknown>, context: Pick<Context, 'caller'>) => Insert;

/** A member of the payload: its JSON, or the column of the row that it shows. */
interface PayloadMember {
  /** The name as JSON, with its colon. */
  readonly prefix: string;
  readonly shows: string | { readonly property: string; readonly type: GraphQLLeafType };
  readonly maxBytes: number;
}

interface OneStatementPlan {
  /** The name of the field as JSON, with its colon. */
  readonly prefix: string;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly insert: OneStatement;
  readonly members: readonly PayloadMember[];
}

declare module './operation-plans.ts' {
  interface OperationPlans {
    oneStatement?: OneStatementPlan | 'declined';
  }
}

/** Bytes for quotes, colon, comma and brackets. */
const PUNCTUATION = 10;

/** The property that the database sets. Its place in a response is open until then. */
const CREATED_AT: keyof Inserted = 'createdAt';
const OPEN = `"${OPEN_INSTANT}"`;

const prefixOf = ({ alias, name }: FieldNode) => `"${alias?.value ?? name.value}":`;

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
    const prefix = prefixOf(selection);
    if (selection.name.value === '__typename') {
      const typename = JSON.stringify(type.name);
      members.set(prefix, { prefix, shows: typename, maxBytes: typename.length });
    } else {
      const field = type.getFields()[selection.name.value];
      const property = field?.extensions.pothosExposedField;
      const leaf = field && getNullableType(field.type);
      if (field === undefined || typeof property !== 'string' || !isLeafType(leaf)) return undefined;
      const shows = property === CREATED_AT ? OPEN : { property, type: leaf };
      members.set(prefix, { prefix, shows, maxBytes: maxJsonBytes(field) });
    }
  }
  return [...members.values()];
}

function planOperation(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): OneStatementPlan | undefined {
  const [node, ...others] = operation.selectionSet.selections;
  if (node === undefined || !isPlain(node) || others.length > 0) return undefined;
  const field = schema.getMutationType()?.getFields()[node.name.value];
  const insert = field?.extensions.oneStatement as OneStatement | undefined;
  // An error in a non-null field leaves no data at all.
  if (field === undefined || insert === undefined || !isNonNullType(field.type)) return undefined;
  const members = planMembers(field.type.ofType, node);
  return members && { prefix: prefixOf(node), field, node, insert, members };
}

function planOf(
  plans: OperationPlans,
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): OneStatementPlan | undefined {
  plans.oneStatement ??= planOperation(schema, operation) ?? 'declined';
  return plans.oneStatement === 'declined' ? undefined : plans.oneStatement;
}

/**
 * Whether a mutation is a single statement: one field that writes with one statement and selects only columns
 * of its row. Such a statement needs no explicit transaction: PostgreSQL commits it atomically.
 */
export function isOneStatement(
  plans: OperationPlans,
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): boolean {
  return planOf(plans, schema, operation) !== undefined;
}

/** The maximum size of the `data` of such a mutation. Its actual size is known only after the commit. */
export function oneStatementSize(
  plans: OperationPlans,
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): number {
  const plan = planOf(plans, schema, operation);
  if (plan === undefined) return 0;
  return plan.members
    .map(({ prefix, maxBytes }) => prefix.length + maxBytes + PUNCTUATION)
    .reduce((sum, bytes) => sum + bytes, plan.prefix.length + PUNCTUATION);
}

/** Such a mutation with its values, ready to run. */
export interface ReadyInsert extends Insert {
  /** The `data` of the response, with OPEN_INSTANT for what the database sets. */
  readonly data: string;
}

function dataOf({ prefix, members }: OneStatementPlan, row: object): string {
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
 * Prepares such a mutation. Undefined if its arguments are invalid: an execution reports the error. Throws what
 * the field's resolver throws before it writes.
 */
export function readyInsert(
  { schema, variableValues }: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Pick<Context, 'plans' | 'caller'>,
): ReadyInsert | undefined {
  const plan = planOf(context.plans, schema, operation);
  if (plan === undefined) return undefined;
  const { field, node, insert } = plan;
  const given = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {});
  if (given.variableValues === undefined) return undefined;
  let args: Record<string, unknown>;
  try {
    args = getArgumentValues(field, node, given.variableValues);
  } catch {
    return undefined;
  }
  requirePermissions(context.caller, permissionsOf(field));
  const ready = insert(args, context);
  return { ...ready, data: dataOf(plan, ready.row) };
}
