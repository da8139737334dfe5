import {
  GraphQLBoolean,
  type GraphQLError,
  GraphQLID,
  GraphQLInt,
  type GraphQLSchema,
  GraphQLString,
  type GraphQLType,
  getVariableValues,
  isLeafType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
} from 'graphql';
import { withoutStackTraces } from '../../platform/errors.ts';

export type OperationVariables = Readonly<Record<string, unknown>>;

/** Ten errors are enough to fix a request. */
const MAX_ERRORS = 10;
/** No date, number or boolean is longer. */
const MAX_LENGTH = 1_000;
const MAX_MEMBERS = 10;

/** graphql-js quotes invalid values in full, which for 256 KiB costs more than an ordinary query. */
function abridge(value: unknown, type: GraphQLType | undefined): unknown {
  if (isNonNullType(type)) return abridge(value, type.ofType);
  if (isListType(type))
    return Array.isArray(value)
      ? value.map((item) => abridge(item, type.ofType))
      : abridge(value, type.ofType);
  if (!isLeafType(type)) return value;
  const isText = type === GraphQLString || type === GraphQLID;
  if (typeof value === 'string') return isText ? value : value.slice(0, MAX_LENGTH);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).slice(0, MAX_MEMBERS));
}

/** Nearly all values obviously fit. Other values are checked in full. */
function fitsPlainly(type: GraphQLType | undefined, value: unknown): boolean {
  const named = isNonNullType(type) ? type.ofType : type;
  if (named === GraphQLString || named === GraphQLID) return typeof value === 'string';
  if (named === GraphQLBoolean) return typeof value === 'boolean';
  if (named === GraphQLInt) return typeof value === 'number' && (value | 0) === value;
  return isListType(named) && Array.isArray(value) && value.every((item) => fitsPlainly(named.ofType, item));
}

/** Undeclared variables have no effect and would stay in memory while the operation waits. */
export function forgetUndeclared(
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Record<string, unknown>,
): void {
  for (const name of Object.keys(given))
    if (!variableDefinitions.some(({ variable }) => variable.name.value === name)) delete given[name];
}

/** @throws {GraphQLError} if a value does not fit */
export function coercedVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: OperationVariables,
): OperationVariables {
  const { variableValues, errors } = getVariableValues(schema, variableDefinitions, given);
  if (variableValues === undefined) throw errors[0];
  return variableValues.coerced;
}

/** Returns the errors of invalid variables, and never throws. */
export function variableErrors(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: OperationVariables = {},
): readonly GraphQLError[] {
  const plain = variableDefinitions.every(
    ({ variable, type }) =>
      Object.hasOwn(given, variable.name.value) &&
      fitsPlainly(typeFromAST(schema, type), given[variable.name.value]),
  );
  if (plain) return [];
  const abridged: Record<string, unknown> = { ...given };
  for (const { variable, type } of variableDefinitions) {
    const name = variable.name.value;
    if (Object.hasOwn(given, name)) abridged[name] = abridge(given[name], typeFromAST(schema, type));
  }
  const { errors = [] } = withoutStackTraces(() =>
    getVariableValues(schema, variableDefinitions, abridged, { maxErrors: MAX_ERRORS }),
  );
  for (const { extensions } of errors) Object.assign(extensions, { code: 'BAD_USER_INPUT' });
  return errors;
}
