import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildASTSchema,
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isObjectType,
  isScalarType,
  Kind,
  lexicographicSortSchema,
  parse,
  type TypeNode,
  visit,
} from 'graphql';
import type { Scope } from '../../src/auth/scopes.ts';
import { type Caller, checkNeed } from './permissions.ts';
import type { Place, State } from './state.ts';
import type { TagPlace } from './tags.ts';

/** What resolvers are given. */
export interface Context {
  caller: Caller | undefined;
  readonly state: State;
  /** The cursor of a row, by its id, and the row of a cursor. */
  readonly cursors: ReadonlyMap<string, string>;
  readonly places: ReadonlyMap<string, Place>;
  /** The same for the lists of tags. */
  readonly tagPlaces: ReadonlyMap<string, TagPlace>;
  /** The password of the caller's account, where a session asks. */
  readonly password: string;
  /** What has been shown that not everybody may see (contract: idempotency). */
  readonly shown: Set<'secret' | Scope>;
}

export type Resolver = GraphQLFieldResolver<never, Context, never>;
/** Resolvers by coordinate, such as `Query.posts`. */
export type Resolvers = Readonly<Record<string, Resolver>>;

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** The milliseconds since 1970 of an instant as RFC 3339 writes it. */
export function parseTimestamp(value: unknown): number {
  const found = typeof value === 'string' ? RFC_3339.exec(value) : null;
  if (found === null) throw new GraphQLError('no instant');
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const sameDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  const [offsetHours, offsetMinutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  if (!sameDay || hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59)
    throw new GraphQLError('no instant');
  const ms = Number((found[7] ?? '').slice(0, 3).padEnd(3, '0'));
  date.setUTCHours(hour, minute, second, ms);
  const offset = (offsetHours * 60 + offsetMinutes) * 60_000;
  return date.getTime() - (found[8] === '-' ? -offset : offset);
}

function scalars(schema: GraphQLSchema): void {
  const type = schema.getType('DateTime');
  if (!isScalarType(type)) throw new Error('the schema has no DateTime');
  type.coerceInputValue = parseTimestamp;
  type.coerceInputLiteral = (node) => parseTimestamp(node.kind === Kind.STRING ? node.value : undefined);
  type.coerceOutputValue = (value) => value;
}

const nullable = (type: TypeNode): TypeNode => {
  if (type.kind === Kind.NON_NULL_TYPE) return nullable(type.type);
  return type.kind === Kind.LIST_TYPE ? { ...type, type: nullable(type.type) } : type;
};

/** The property of the same name. A row without it is one that the model was not taught. */
const ofRow =
  (coordinate: string): GraphQLFieldResolver<unknown, Context> =>
  (row, _args, _context, { fieldName }) => {
    const value = (row as Readonly<Record<string, unknown>>)[fieldName];
    if (value !== undefined) return value;
    throw new Error(
      `the model knows no ${coordinate}: add the property to tests/model/tables.ts, or a resolver to reads.ts or writes.ts beside it`,
    );
  };

const SDL = readFileSync(join(import.meta.dirname, '../../schema.graphql'), 'utf8');

/** The published schema with the resolvers; `lenient`, with every output type nullable, so that no error hides another. */
export function buildModelSchema(resolvers: Resolvers, lenient: boolean): GraphQLSchema {
  const strict = parse(SDL);
  const document = lenient
    ? visit(strict, { FieldDefinition: (node) => ({ ...node, type: nullable(node.type) }) })
    : strict;
  const schema = buildASTSchema(document);
  scalars(schema);
  for (const [coordinate, resolve] of Object.entries(resolvers)) {
    const [type = '', field = ''] = coordinate.split('.');
    const owner = schema.getType(type);
    const found = isObjectType(owner) ? owner.getFields()[field] : undefined;
    if (found === undefined) throw new Error(`the schema has no ${coordinate}`);
    const response = resolve as GraphQLFieldResolver<unknown, Context>;
    found.resolve = (row, args, context, info) => {
      checkNeed(context, coordinate);
      return response(row, args, context, info);
    };
  }
  for (const owner of new Set(Object.keys(resolvers).map((coordinate) => coordinate.split('.')[0] ?? ''))) {
    const type = schema.getType(owner);
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) field.resolve ??= ofRow(`${owner}.${field.name}`);
  }
  // In the order of the published schema, which is sorted.
  return lexicographicSortSchema(schema);
}
