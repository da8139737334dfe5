import { GraphQLError } from 'graphql';
import { DatabaseError, type DatabaseErrorKind } from '../platform/db/errors.ts';

/** The kind of the database error behind an execution error; undefined if there is none. */
export function databaseKindOf(error: unknown): DatabaseErrorKind | undefined {
  let origin: unknown = error;
  while (origin instanceof GraphQLError && origin.originalError != null) origin = origin.originalError;
  return origin instanceof DatabaseError ? origin.kind : undefined;
}
