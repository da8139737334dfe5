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
import type { Parameter } from '../platform/db/statement.ts';
import type { Context } from './context.ts';
import { type Dated, type InsertStatement, OPEN_INSTANT } from './insert-statement.ts';
import { variablesOf } from './look-ahead/selection.ts';
import { maxJsonBytes } from './max-json-bytes.ts';
import { fieldNamed, permissionsOf, requirePermissions } from './scope-plugin.ts';

/** A statement that inserts a row, and the row, which is known beforehand except for what the database sets. */
export interface Insert<Row = object> {
  readonly statement: InsertStatement;
  readonly values: readonly Parameter[];
  readonly row: Row;
}

/**
 * How a mutation inserts its row. Undefined for arguments that need more than one statement: the resolver runs then.
 * Throws BAD_USER_INPUT.
 */
export type OneStatement = (
  args: Record<string, unknown>,
  context: Pick<Context, 'caller'>,
) => Insert | undefined;

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
  /** The maximum size of the response. Its actual size is known only after the commit. */
  readonly maxBytes: number;
}

declare module './operation-plans.ts' {
  interface OperationPlans {
    oneStatement?: OneStatementPlan | 'declined';
  }
}

/** Bytes for comma and brackets, and for those around the `data`. */
const PUNCTUATION = 10;

/** The properties that the instant of the insertion sets. Their places in a response are open until then. */
const DATED: ReadonlySet<string> = new Set<keyof Dated>(['createdAt', 'updatedAt']);
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
      const shows = DATED.has(property) ? OPEN : { property, type: leaf };
      members.set(prefix, { prefix, shows, maxBytes: maxJsonBytes(field) });
    }
  }
  return [...members.values()];
}

/**
 * The plan of a mutation that is a single statement: one field that writes with one statement and selects only columns
 * of its row. Such a statement needs no explicit transaction: PostgreSQL commits it atomically.
 */
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
  if (members === undefined) return undefined;
  const prefix = prefixOf(node);
  let maxBytes = prefix.length + PUNCTUATION;
  for (const member of members) maxBytes += member.prefix.length + member.maxBytes + PUNCTUATION;
  return { prefix, field, node, insert, members, maxBytes };
}

/** A mutation that is a single statement, with its values. */
export interface ReadyInsert extends Insert {
  /** The name of the mutation's field. */
  readonly field: string;
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
 * Prepares a mutation that is a single statement. Undefined if it is none, its response may be too large, or a variable is
 * invalid, which an execution reports. Throws what the execution would be refused with before it writes.
 */
export function readyInsert(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Pick<Context, 'plans' | 'caller' | 'maxResponseBytes'>,
): ReadyInsert | undefined {
  const { plans, caller, maxResponseBytes } = context;
  plans.oneStatement ??= planOperation(args.schema, operation) ?? 'declined';
  const plan = plans.oneStatement;
  if (plan === 'declined' || plan.maxBytes > maxResponseBytes) return undefined;
  const variables = variablesOf(args, operation);
  if (variables === undefined) return undefined;
  const given = getArgumentValues(plan.field, plan.node, variables);
  requirePermissions(caller, permissionsOf(plan.field), fieldNamed(plan.field));
  const ready = plan.insert(given, context);
  if (ready === undefined) return undefined;
  return { ...ready, field: plan.field.name, data: dataOf(plan, ready.row) };
}
