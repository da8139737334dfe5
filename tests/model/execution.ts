import {
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  isListType,
  isNonNullType,
  parse,
} from 'graphql';
import type { Caller } from './permissions.ts';
import { READS } from './reads.ts';
import { buildModelSchema, type Context } from './schema.ts';
import type { State } from './state.ts';
import { type Asked, rootFields } from './walk.ts';
import { WRITES } from './writes.ts';
import { faultsOf } from './wrong.ts';

/** The published schema, with all that the contract says of its fields. */
const RESOLVERS = { ...READS, ...WRITES };

/** The coordinates of the fields that the model knows the responses to. */
export const MODELLED: readonly string[] = Object.keys(RESOLVERS);

export const SCHEMA = buildModelSchema(RESOLVERS, false);
/** The same where nothing is lost to an error beside it: it finds all errors that could be told. */
const LENIENT = buildModelSchema(RESOLVERS, true);

/** What an error must say: its code, where execution came to it its path, and for a wrong argument which it is. */
export interface ExpectedError {
  readonly code: string;
  readonly path: readonly (string | number)[] | undefined;
  readonly argument?: string;
}

/** A place that errors null. Of all errors below it exactly one is told, whichever comes first. */
export interface NulledPlace {
  readonly oneOf: readonly ExpectedError[];
  /** Where the response has no data, an error elsewhere may have ended execution before it came to this one. */
  readonly optional: boolean;
}

/** Who asks for what, of which state. */
export interface ToExecute
  extends Asked,
    Partial<Pick<Context, 'cursors' | 'places' | 'tagPlaces' | 'password'>> {
  readonly caller: Caller | undefined;
  readonly state: State;
  /** What an event shows: a post, or a change. */
  readonly event?: object;
}

/** What a valid operation comes to. */
export interface Executed {
  /** Members are in the order in which they must come. Null where an error has taken all of it. */
  readonly data: unknown;
  /** In any order; there are no others. */
  readonly errors: readonly NulledPlace[];
  /** What it leaves behind: of a mutation that fails, what was there before (contract: mutations). */
  readonly state: State;
  readonly shown: Context['shown'];
}

function run(schema: GraphQLSchema, asked: ToExecute) {
  const { document, operation, inputs, caller, event } = asked;
  const { cursors = new Map(), places = new Map(), tagPlaces = new Map(), password = '' } = asked;
  const known = { cursors, places, tagPlaces, password };
  const context: Context = { caller, state: { ...asked.state }, ...known, shown: new Set() };
  const others = document.definitions.filter((node) => node.kind !== 'OperationDefinition');
  const result = execute({
    schema,
    document: { ...document, definitions: [operation, ...others] },
    variableValues: inputs,
    contextValue: context,
    rootValue: event,
  });
  if (result instanceof Promise) throw new Error('a resolver of the model waits');
  return { result: result as ExecutionResult, context };
}

/** An operation that is all of a valid document. */
export function operationIn(text: string, inputs: Asked['inputs']): Asked {
  const document = parse(text);
  const operation = document.definitions.find((node) => node.kind === 'OperationDefinition');
  if (operation === undefined) throw new Error('a document without an operation');
  const { variableValues } = getVariableValues(SCHEMA, operation.variableDefinitions ?? [], inputs);
  if (variableValues === undefined) throw new Error('a variable without a value');
  return { schema: SCHEMA, document, operation, variables: variableValues.coerced, inputs };
}

const toldAs = (error: GraphQLError): ExpectedError[] =>
  faultsOf(error).map((fault) => ({ ...fault, path: error.path }));

/**
 * How far up an error takes the response: to a root field that may be null, to an item of one that may be null, or to all
 * of it.
 */
function placeOf({ path }: GraphQLError, asked: Asked): string | undefined {
  const [name, index] = path ?? [];
  const field = rootFields(asked).find(({ alias, name: own }) => (alias ?? own).value === name);
  const root = asked.schema.getRootType(asked.operation.operation);
  const type = root?.getFields()[field?.name.value ?? '']?.type;
  if (type === undefined || !isNonNullType(type)) return type && String(name);
  const item = isListType(type.ofType) ? type.ofType.ofType : undefined;
  return item === undefined || isNonNullType(item) || index === undefined ? undefined : `${name} ${index}`;
}

/** The fields of a mutation run in order, and none after the first that fails. */
function untilFirstFailure(
  errors: readonly GraphQLError[],
  { data }: ExecutionResult,
): readonly GraphQLError[] {
  const first = Object.keys(data ?? {}).find((name) => errors.some(({ path }) => path?.[0] === name));
  return errors.filter(({ path }) => path === undefined || path[0] === first);
}

/** What a valid operation must be answered with, and what it leaves behind. */
export function executed(asked: ToExecute): Executed {
  const { result, context } = run(SCHEMA, asked);
  const { shown, state } = context;
  if (result.errors === undefined) return { data: result.data, errors: [], state, shown };
  const { result: lenient } = run(LENIENT, asked);
  const found = lenient.errors ?? [];
  const errors = asked.operation.operation === 'mutation' ? untilFirstFailure(found, lenient) : found;
  const places = new Map<string | undefined, ExpectedError[]>();
  for (const error of errors) {
    const place = placeOf(error, asked);
    places.set(place, [...(places.get(place) ?? []), ...toldAs(error)]);
  }
  const nulled: NulledPlace[] = [...places].map(([place, oneOf]) => ({
    oneOf,
    optional: place !== undefined && places.has(undefined),
  }));
  // A mutation with data is committed, also where a field that may be null failed (contract: mutations).
  return { data: result.data, errors: nulled, state: result.data == null ? asked.state : state, shown };
}

/** Contract section 6: what says something about the credentials is not stored, such as an e-mail without the scope. */
export const mayBeStored = (errors: Executed['errors']): boolean =>
  errors.every(({ oneOf }) =>
    oneOf.every(({ code, path }) => code !== 'UNAUTHENTICATED' && path?.at(-1) !== 'email'),
  );
