import {
  type ArgumentNode,
  coerceInputLiteral,
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLSchema,
  isInputType,
  isLeafType,
  isListType,
  isNonNullType,
  isRequiredArgument,
  isTypeSubTypeOf,
  Kind,
  typeFromAST,
  type ValueNode,
  type VariableDefinitionNode,
  type VariableNode,
} from 'graphql';
import type { FieldShape } from './schema-table.ts';

/** A variable of the operation. */
interface Variable {
  readonly type: GraphQLInputType;
  /** Whether it has a default that is not null. */
  readonly hasDefault: boolean;
  used: boolean;
}

const hasDefault = (argument: GraphQLArgument) =>
  argument.default !== undefined || argument.defaultValue !== undefined;

/** Checks the variables and argument values of one document. Every method returns whether all is surely valid. */
export class Inputs {
  readonly #schema: GraphQLSchema;
  #variables: Map<string, Variable> | undefined;
  /** Items of list literals so far: a fragment's literals are checked wherever it is spread. */
  items = 0;

  constructor(schema: GraphQLSchema) {
    this.#schema = schema;
  }

  /** Variables have unique names and input types, and defaults of their types (GraphQL sections 5.8.1, 5.8.2, 5.6.1). */
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

  /** All variables are used (GraphQL section 5.8.4). */
  allUsed(): boolean {
    if (this.#variables !== undefined)
      for (const { used } of this.#variables.values()) if (!used) return false;
    return true;
  }

  /** Arguments are known, unique, of their types, and all that are required (GraphQL section 5.4). */
  areArguments({ args, required }: FieldShape, given: readonly ArgumentNode[]): boolean {
    // More than are known are not unique. This also bounds the comparison of their names.
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

  /** A value at a place of this type, which may have a default (GraphQL sections 5.6.1, 5.8.5). */
  fits(type: GraphQLInputType, value: ValueNode, placeHasDefault: boolean): boolean {
    if (value.kind === Kind.VARIABLE) return this.#mayStandAt(type, value, placeHasDefault);
    if (isNonNullType(type)) return value.kind !== Kind.NULL && this.fits(type.ofType, value, false);
    if (value.kind === Kind.NULL) return true;
    if (isListType(type)) {
      if (value.kind !== Kind.LIST) return this.fits(type.ofType, value, false);
      this.items += value.values.length;
      return value.values.every((item) => this.fits(type.ofType, item, false));
    }
    if (value.kind === Kind.LIST || value.kind === Kind.OBJECT || !isLeafType(type)) return false;
    return coerceInputLiteral(value, type) !== undefined;
  }

  /** The variable is defined, and its type allows this use (GraphQL sections 5.8.3, 5.8.5). */
  #mayStandAt(type: GraphQLInputType, { name }: VariableNode, placeHasDefault: boolean): boolean {
    const variable = this.#variables?.get(name.value);
    if (variable === undefined) return false;
    variable.used = true;
    if (!isNonNullType(type) || isNonNullType(variable.type))
      return isTypeSubTypeOf(this.#schema, variable.type, type);
    return (
      (variable.hasDefault || placeHasDefault) && isTypeSubTypeOf(this.#schema, variable.type, type.ofType)
    );
  }
}
