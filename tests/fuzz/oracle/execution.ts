import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLSchema,
  isListType,
  isNonNullType,
} from 'graphql';
import { type ExpectedAnswer, type ExpectedError, MADE, type NulledPlace } from '../case.ts';
import type { PostRow } from '../snapshot.ts';
import type { World } from '../world.ts';
import { rootFields } from './limits.ts';
import type { Asked } from './measure.ts';
import { READS } from './reads.ts';
import { buildOracleSchema, type Context } from './schema.ts';
import { MADE_TEXT, State } from './state.ts';
import { WRITES } from './writes.ts';
import { faultsOf } from './wrong.ts';

/** The published schema, with all that the contract says of its fields. */
const RESOLVERS = { ...READS, ...WRITES };

/** The coordinates of the fields that the oracle knows the answers to. */
export const JUDGED: readonly string[] = Object.keys(RESOLVERS);

export const SCHEMA = buildOracleSchema(RESOLVERS, false);
/** The same where nothing is lost to an error beside it: it finds all errors that could be told. */
const LENIENT = buildOracleSchema(RESOLVERS, true);

type Inputs = Readonly<Record<string, unknown>>;
type CallerOf = World['callers'][keyof World['callers']];

export interface ToExecute extends Asked {
  readonly inputs: Inputs;
  readonly caller: CallerOf;
  readonly world: World;
  /** The post that an event is of. */
  readonly event?: PostRow;
}

function run(
  schema: GraphQLSchema,
  { document, operation, inputs, caller, world, event }: ToExecute,
): ExecutionResult {
  const { snapshot, cursors, places, password } = world;
  const contextValue: Context = { caller, state: new State(snapshot), cursors, places, password };
  const others = document.definitions.filter((node) => node.kind !== 'OperationDefinition');
  const alone: DocumentNode = { ...document, definitions: [operation, ...others] };
  const result = execute({ schema, document: alone, variableValues: inputs, contextValue, rootValue: event });
  if (result instanceof Promise) throw new Error('a resolver of the oracle waits');
  return result as ExecutionResult;
}

const isMade = (value: unknown) => typeof value === 'string' && value.startsWith(MADE_TEXT);

/** The data with `MADE` for what stands for it. */
function withMade(value: unknown): unknown {
  if (isMade(value)) return MADE;
  if (Array.isArray(value)) return value.map(withMade);
  if (typeof value !== 'object' || value === null) return value;
  return Object.assign(
    Object.create(null) as object,
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withMade(member)])),
  );
}

const toldAs = (error: GraphQLError): ExpectedError[] =>
  faultsOf(error).map((fault) => ({ ...fault, path: error.path }));

/**
 * How far up an error takes the answer: to a root field that may be null, to an item of one that may be null, or to all
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

/** What a valid operation must be answered with. */
export function executed(asked: ToExecute): ExpectedAnswer {
  const strict = run(SCHEMA, asked);
  const lenient = run(LENIENT, asked);
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
  return { data: withMade(strict.data), errors: nulled };
}
