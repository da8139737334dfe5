import { readFileSync } from 'node:fs';
import {
  buildSchema,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  isObjectType,
  Kind,
  SchemaMetaFieldDef,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
  type ValueNode,
} from 'graphql';

export type Value = number | string | readonly string[];

/** A field with its arguments and what is selected of it. Never changed: other operations share it. */
export interface Selected {
  readonly name: string;
  readonly args: Readonly<Record<string, Value>>;
  readonly below: readonly Selected[];
}

export interface Operation {
  readonly kind: 'query' | 'mutation';
  readonly roots: readonly Selected[];
  /** Whether every request gets an Idempotency-Key of its own. */
  readonly keyed: boolean;
  /** The characters of an alias. */
  readonly aliasLength: number;
  /** The bytes of a variable that nothing uses. */
  readonly padding: number;
}

const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));

type Field = GraphQLField<unknown, unknown>;

function rootType(kind: Operation['kind']): GraphQLObjectType {
  const type = kind === 'query' ? schema.getQueryType() : schema.getMutationType();
  if (type == null) throw new Error(`the schema has no type for a ${kind}`);
  return type;
}

export const rootOf = ({ kind }: Pick<Operation, 'kind'>): GraphQLObjectType => rootType(kind);

export function fieldsOf(type: GraphQLObjectType): readonly Field[] {
  const meta = type === schema.getQueryType() ? [SchemaMetaFieldDef, TypeMetaFieldDef] : [];
  return [...Object.values(type.getFields()), ...meta, TypeNameMetaFieldDef];
}

export function fieldOf(type: GraphQLObjectType, name: string): Field {
  const field = fieldsOf(type).find((one) => one.name === name);
  if (field === undefined) throw new Error(`${type.name} has no field "${name}"`);
  return field;
}

/** The type of what is selected of a field; undefined where nothing can be. */
export function objectOf(field: Field): GraphQLObjectType | undefined {
  const type = getNamedType(field.type);
  return isObjectType(type) ? type : undefined;
}

export function argumentOf(field: Field, name: string): GraphQLArgument {
  const found = field.args.find((argument) => argument.name === name);
  if (found === undefined) throw new Error(`${field.name} has no argument "${name}"`);
  return found;
}

function literal(node: ValueNode): Value {
  if (node.kind === Kind.INT) return Number(node.value);
  if (node.kind === Kind.STRING) return node.value;
  if (node.kind === Kind.LIST) return node.values.map((item) => String(literal(item)));
  throw new Error(`a ${node.kind} cannot be the value of an argument here`);
}

function selectedOf({ selections }: SelectionSetNode): Selected[] {
  return selections.map((node) => {
    if (node.kind !== Kind.FIELD) throw new Error('a fragment cannot stand in an operation to begin with');
    const args = (node.arguments ?? []).map(({ name, value }) => [name.value, literal(value)] as const);
    return {
      name: node.name.value,
      args: Object.fromEntries(args),
      below: node.selectionSet === undefined ? [] : selectedOf(node.selectionSet),
    };
  });
}

/** The one operation of a document without fragments and variables. */
export function operationOf({ definitions: [node] }: DocumentNode, keyed: boolean): Operation {
  if (node?.kind !== Kind.OPERATION_DEFINITION) throw new Error('the document has no operation');
  const kind = node.operation === 'mutation' ? 'mutation' : 'query';
  return { kind, roots: selectedOf(node.selectionSet), keyed, aliasLength: 2, padding: 0 };
}

export function countFields(fields: readonly Selected[]): number {
  return fields.reduce((sum, { below }) => sum + 1 + countFields(below), 0);
}

export function depthOf(fields: readonly Selected[]): number {
  return fields.reduce((depth, { below }) => Math.max(depth, 1 + depthOf(below)), 0);
}

const DEFAULT_LIMIT = 20;
const SKIPPED_A_POINT = 10;

/** About what the service counts (contract section 5): close enough to know what it would refuse. */
export function pointsOf(type: GraphQLObjectType, fields: readonly Selected[]): number {
  return fields.reduce((sum, { name, args, below }) => {
    if (name.startsWith('__')) return sum + 1;
    const field = fieldOf(type, name);
    const object = objectOf(field);
    if (object === undefined) return sum + 1;
    const isList = field.args.some((argument) => argument.name === 'limit');
    const size = isList ? Number(args.limit ?? args.first ?? DEFAULT_LIMIT) : 1;
    return sum + 1 + Math.ceil(Number(args.offset ?? 0) / SKIPPED_A_POINT) + size * pointsOf(object, below);
  }, 0);
}
