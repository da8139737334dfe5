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
import type { Context } from './context.ts';
import { maxJsonBytes } from './max-json-bytes.ts';
import type { OperationPlans } from './operation-plans.ts';
import { guardsOf, requireGuards } from './scope-plugin.ts';

/** Writes with one statement and returns the resulting row. */
export type OneStatement = (args: Record<string, unknown>, context: Context) => Promise<object>;

/** A member of the payload: a column of the row, or `__typename`. */
type PayloadMember =
  | {
      readonly name: string;
      readonly property: string;
      readonly type: GraphQLLeafType;
      readonly maxBytes: number;
    }
  | { readonly name: string; readonly typename: string };

interface OneStatementPlan {
  readonly name: string;
  readonly field: GraphQLField<unknown, unknown>;
  readonly node: FieldNode;
  readonly write: OneStatement;
  readonly members: readonly PayloadMember[];
}

declare module './operation-plans.ts' {
  interface OperationPlans {
    oneStatement?: OneStatementPlan | 'declined';
  }
}

/** Bytes for quotes, colon, comma and brackets. */
const PUNCTUATION = 10;

const responseName = ({ alias, name }: FieldNode) => alias?.value ?? name.value;

function isPlain(node: { readonly kind: Kind; readonly directives?: readonly unknown[] }): node is FieldNode {
  return node.kind === Kind.FIELD && (node.directives ?? []).length === 0;
}

function planMembers(type: unknown, node: FieldNode): PayloadMember[] | undefined {
  if (!isObjectType(type)) return undefined;
  const members = new Map<string, PayloadMember>();
  for (const selection of node.selectionSet?.selections ?? []) {
    if (!isPlain(selection)) return undefined;
    const name = responseName(selection);
    if (selection.name.value === '__typename') members.set(name, { name, typename: type.name });
    else {
      const field = type.getFields()[selection.name.value];
      const property = field?.extensions.pothosExposedField;
      const leaf = field && getNullableType(field.type);
      if (field === undefined || typeof property !== 'string' || !isLeafType(leaf)) return undefined;
      members.set(name, { name, property, type: leaf, maxBytes: maxJsonBytes(field) });
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
  const write = field?.extensions.oneStatement as OneStatement | undefined;
  // An error in a non-null field leaves no data at all.
  if (field === undefined || write === undefined || !isNonNullType(field.type)) return undefined;
  const members = planMembers(field.type.ofType, node);
  return members && { name: responseName(node), field, node, write, members };
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
  const sizes = plan.members.map((member) => {
    const value = 'typename' in member ? member.typename.length : member.maxBytes;
    return member.name.length + value + PUNCTUATION;
  });
  return sizes.reduce((sum, bytes) => sum + bytes, plan.name.length + PUNCTUATION);
}

/**
 * Runs such a mutation without an execution and returns its `data`. Undefined if its arguments are invalid:
 * nothing is written, and an execution reports the error. Throws what the field's resolver throws.
 */
export async function runOneStatement(
  { schema, variableValues }: ExecutionArgs,
  operation: OperationDefinitionNode,
  context: Context,
): Promise<string | undefined> {
  const plan = planOf(context.plans, schema, operation);
  if (plan === undefined) return undefined;
  const { name, field, node, write, members } = plan;
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variableValues ?? {});
  if (coerced === undefined) return undefined;
  let args: Record<string, unknown>;
  try {
    args = getArgumentValues(field, node, coerced);
  } catch {
    return undefined;
  }
  requireGuards(context.caller, guardsOf(field));
  context.onPath('one_statement');
  const row = (await write(args, context)) as Record<string, unknown>;
  // Not by assignment: a client may use the alias "__proto__".
  const payload = Object.fromEntries(
    members.map((member) => [
      member.name,
      'typename' in member ? member.typename : member.type.serialize(row[member.property]),
    ]),
  );
  return JSON.stringify({ [name]: payload });
}
