import {
  type ArgumentNode,
  coerceInputLiteral,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
  isTypeSubTypeOf,
  isUnionType,
  Kind,
  type ObjectFieldNode,
  type OperationTypeNode,
  typeFromAST,
  type ValueNode,
  type VariableDefinitionNode,
  type VariableNode,
} from 'graphql';

export interface FieldShape {
  readonly name: string;
  /** The type in GraphQL syntax. */
  readonly type: string;
  readonly args: ReadonlyMap<string, GraphQLArgument>;
  readonly required: number;
  /** Undefined for a leaf. */
  readonly object: ObjectShape | undefined;
}

export interface ObjectShape {
  readonly name: string;
  /** Further types of possible fragments. An object has its interfaces, and an interface its objects. */
  readonly related: ReadonlySet<string>;
  /** A Map, because clients choose the names that are looked up, `__proto__` among them. */
  readonly fields: ReadonlyMap<string, FieldShape>;
}

export interface SchemaTable {
  readonly root: (operation: OperationTypeNode) => ObjectShape | undefined;
  readonly type: (name: string) => ObjectShape | undefined;
}

const TYPENAME: FieldShape = {
  name: '__typename',
  type: 'String!',
  args: new Map(),
  required: 0,
  object: undefined,
};

function relatedTo(schema: GraphQLSchema, type: GraphQLObjectType | GraphQLInterfaceType): Set<string> {
  const types = isObjectType(type) ? type.getInterfaces() : schema.getPossibleTypes(type);
  return new Set(types.map(({ name }) => name));
}

/**
 * Introspection is left out.
 * @returns undefined for a schema with unions
 */
export function createSchemaTable(schema: GraphQLSchema): SchemaTable | undefined {
  const types = Object.values(schema.getTypeMap());
  if (types.some(isUnionType)) return undefined;
  const shapes = new Map<string, ObjectShape & { readonly fields: Map<string, FieldShape> }>();
  for (const type of types)
    if ((isObjectType(type) || isInterfaceType(type)) && !isIntrospectionType(type))
      shapes.set(type.name, { name: type.name, related: relatedTo(schema, type), fields: new Map() });

  const toFieldShape = ({ name, type, args }: GraphQLField<unknown, unknown>): FieldShape => ({
    name,
    type: String(type),
    args: new Map(args.map((argument) => [argument.name, argument])),
    required: args.filter(isRequiredArgument).length,
    object: shapes.get(getNamedType(type).name),
  });

  const subscription = schema.getSubscriptionType();
  for (const type of types) {
    const fields = shapes.get(type.name)?.fields;
    if (fields === undefined || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) fields.set(field.name, toFieldShape(field));
    // The root of a subscription has no meta fields (GraphQL specification: Single Root Field).
    if (type !== subscription) fields.set('__typename', TYPENAME);
  }
  return {
    root: (operation) => shapes.get(schema.getRootType(operation)?.name ?? ''),
    type: (name) => shapes.get(name),
  };
}

interface Variable {
  readonly type: GraphQLInputType;
  /** True if the variable has a default that is not null. */
  readonly hasDefault: boolean;
  used: boolean;
}

const hasDefault = (input: GraphQLArgument | GraphQLInputField) =>
  input.default !== undefined || input.defaultValue !== undefined;

/** Every method returns false if an argument may be invalid. */
export class Inputs {
  readonly #schema: GraphQLSchema;
  #variables: Map<string, Variable> | undefined;
  /** Counts the items of list and object literals, for each spread of a fragment again. */
  items = 0;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /**
   * Variables have unique names, input types, and defaults of their types (GraphQL specification: Validation,
   * Variables).
   */
  define(definitions: readonly VariableDefinitionNode[]): boolean {
    if (definitions.length === 0) return true;
    this.#variables = new Map();
    for (const { variable, type: node, defaultValue, directives = [] } of definitions) {
      const name = variable.name.value;
      const type = typeFromAST(this.#schema, node);
      if (directives.length > 0 || !isInputType(type) || this.#variables.has(name)) return false;
      if (defaultValue !== undefined && !this.fits(type, defaultValue, false)) return false;
      const hasDefault = defaultValue !== undefined && defaultValue.kind !== Kind.NULL;
      this.#variables.set(name, { type, hasDefault, used: false });
    }
    return true;
  }

  /** All variables are used (GraphQL specification: All Variables Used). */
  allUsed(): boolean {
    if (this.#variables !== undefined)
      for (const { used } of this.#variables.values()) if (!used) return false;
    return true;
  }

  /**
   * Arguments are known, unique and of their types, and required arguments are given (GraphQL specification:
   * Validation, Arguments).
   */
  areArguments({ args, required }: FieldShape, given: readonly ArgumentNode[]): boolean {
    // More arguments than known names cannot be unique. This check also bounds the comparison of their names.
    if (given.length > args.size) return false;
    let missing = required;
    for (const [index, { name, value }] of given.entries()) {
      const argument = args.get(name.value);
      if (argument === undefined) return false;
      for (let before = 0; before < index; before += 1)
        if (given[before]?.name.value === name.value) return false;
      if (!this.fits(argument.type, value, hasDefault(argument))) return false;
      if (isRequiredArgument(argument)) missing -= 1;
    }
    return missing === 0;
  }

  /** The value fits a location of this type (GraphQL specification: Values of Correct Type). */
  fits(type: GraphQLInputType, value: ValueNode, locationHasDefault: boolean): boolean {
    if (value.kind === Kind.VARIABLE) return this.#mayStandAt(type, value, locationHasDefault);
    if (isNonNullType(type)) return value.kind !== Kind.NULL && this.fits(type.ofType, value, false);
    if (value.kind === Kind.NULL) return true;
    if (isListType(type)) {
      if (value.kind !== Kind.LIST) return this.fits(type.ofType, value, false);
      this.items += value.values.length;
      return value.values.every((item) => this.fits(type.ofType, item, false));
    }
    if (isInputObjectType(type)) return value.kind === Kind.OBJECT && this.#isObject(type, value.fields);
    if (value.kind === Kind.LIST || value.kind === Kind.OBJECT || !isLeafType(type)) return false;
    return coerceInputLiteral(value, type) !== undefined;
  }

  /**
   * Input fields are known, unique and of their types, and required fields are given (GraphQL specification: Validation,
   * Values). The full validation decides about OneOf objects.
   */
  #isObject(type: GraphQLInputObjectType, given: readonly ObjectFieldNode[]): boolean {
    const fields = new Map(Object.entries(type.getFields()));
    if (type.isOneOf || given.length > fields.size) return false;
    this.items += given.length;
    for (const { name, value } of given) {
      const field = fields.get(name.value);
      if (field === undefined || !this.fits(field.type, value, hasDefault(field))) return false;
      fields.delete(name.value);
    }
    return ![...fields.values()].some(isRequiredInputField);
  }

  /** The variable is defined, and its type allows this use (GraphQL specification: All Variable Usages Are Allowed). */
  #mayStandAt(type: GraphQLInputType, { name }: VariableNode, locationHasDefault: boolean): boolean {
    const variable = this.#variables?.get(name.value);
    if (variable === undefined) return false;
    variable.used = true;
    if (!isNonNullType(type) || isNonNullType(variable.type))
      return isTypeSubTypeOf(this.#schema, variable.type, type);
    return (
      (variable.hasDefault || locationHasDefault) && isTypeSubTypeOf(this.#schema, variable.type, type.ofType)
    );
  }
}
