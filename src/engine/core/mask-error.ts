import { GraphQLError } from 'graphql';
import { isAccountGone } from '../../auth/accounts.ts';
import { DatabaseError, type DatabaseErrorKind, findLogLevel } from '../../database/errors.ts';
import {
  ApiError,
  ERRORS,
  type ErrorCode,
  tryLater,
  unauthenticated,
  withoutStackTraces,
} from '../../platform/errors.ts';
import { QueueFullError } from '../../platform/fairness/fair-queue.ts';
import { DailyLimitError } from '../../platform/fairness/usage.ts';
import type { Logger } from '../../platform/log/log.ts';

export interface MaskOptions {
  readonly requestId: string;
  readonly log: Logger;
}

export interface PublicError {
  readonly code: ErrorCode;
  readonly status: number;
  /** True for an error in the document or its variables, which has status 200 as `application/json`. */
  readonly negotiable: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly retriable: boolean;
}

const masked = new WeakMap<GraphQLError, PublicError>();

/** graphql-js quotes invalid values in full, which may be 256 KiB. */
const MAX_MESSAGE_LENGTH = 1_000;

/** graphql-js starts its messages for invalid variables and arguments with these words. */
const VARIABLE = /^Variable "\$(\w+)"/;
const ARGUMENT = /^Argument "\w+\.\w+\((\w+):\)"/;

function findOrigin(error: unknown): unknown {
  let origin = error;
  while (origin instanceof GraphQLError && origin.originalError != null) origin = origin.originalError;
  return origin;
}

export function isPublicCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && code in ERRORS;
}

/** If the queue is full, the owner with most entries is rejected (decisions/0016-fair-scheduling.md). */
function toQueueError({ reason }: QueueFullError): ApiError {
  if (reason === 'cancelled')
    return new ApiError('TIMEOUT', 'The operation timed out while it waited for a slot. Try again later.');
  return reason === 'owner_limit'
    ? tryLater('RATE_LIMITED', undefined)
    : tryLater('SERVICE_UNAVAILABLE', 'The service is busy. Try again.');
}

function translate(origin: unknown, { requestId, log }: MaskOptions): ApiError {
  if (origin instanceof ApiError) return origin;
  if (origin instanceof QueueFullError) return toQueueError(origin);
  if (origin instanceof DailyLimitError) return tryLater('RATE_LIMITED', origin.message, 3600);
  if (origin instanceof DatabaseError && origin.kind !== 'other') {
    log.emit('database.statement_failed', { requestId, err: origin }, findLogLevel(origin));
    if (origin.kind === 'timeout' || origin.kind === 'locked') return new ApiError('TIMEOUT');
    // A client that retries automatically and without a key may run the mutation twice, so there is no Retry-After.
    if (origin.kind === 'unknown')
      return new ApiError(
        'SERVICE_UNAVAILABLE',
        'The database connection was lost during the commit, so the changes may have been saved. Retry with the same Idempotency-Key to get the outcome. Without a key, check the data before you retry.',
        { details: { outcome: 'unknown' } },
      );
    return tryLater('SERVICE_UNAVAILABLE', undefined);
  }
  if (isAccountGone(origin))
    return unauthenticated('The account of the credentials was deleted.', 'Bearer error="invalid_token"');
  log.emit('graphql.internal_error', { requestId, err: origin });
  return new ApiError(
    'INTERNAL_SERVER_ERROR',
    `The service failed with an internal error. Report the request id ${requestId} to the operator.`,
    { details: { requestId } },
  );
}

/**
 * Converts an error to the form that clients see (contract: errors). Internal errors are logged and replaced. Masking
 * an error twice changes nothing.
 */
export function maskError(error: unknown, options: MaskOptions): GraphQLError {
  if (error instanceof GraphQLError && masked.has(error)) return error;
  const origin = findOrigin(error);
  // graphql-js throws these errors for syntax, validation, and client errors found during execution.
  if (origin instanceof GraphQLError) {
    const { code } = origin.extensions;
    const known = isPublicCode(code) ? code : 'BAD_USER_INPUT';
    // graphql-js wraps the error of a scalar in an error that names the variable.
    const { message } = error instanceof GraphQLError ? error : origin;
    const argument = (VARIABLE.exec(message) ?? ARGUMENT.exec(message))?.[1];
    const extensions = {
      code: known,
      ...(known === 'BAD_USER_INPUT' && argument !== undefined ? { argument } : {}),
    };
    const shown = message.length > MAX_MESSAGE_LENGTH ? `${message.slice(0, MAX_MESSAGE_LENGTH)}…` : message;
    return publish(error, shown, extensions, {
      code: known,
      status: 400,
      negotiable: true,
      headers: {},
      retriable: false,
    });
  }
  const { message, code, status, headers, extensions, retriable } = translate(origin, options);
  return publish(error, message, extensions, { code, status, negotiable: false, headers, retriable });
}

function publish(
  error: unknown,
  message: string,
  extensions: Readonly<Record<string, unknown>>,
  meaning: PublicError,
): GraphQLError {
  // Errors of graphql-js contain nothing internal and are reused, because computing locations again is expensive.
  if (error instanceof GraphQLError && error.originalError === undefined && error.message === message) {
    for (const name of Object.keys(error.extensions)) delete error.extensions[name];
    Object.assign(error.extensions, extensions);
    masked.set(error, meaning);
    return error;
  }
  const { nodes, source, positions, path } =
    error instanceof GraphQLError ? error : ({} as Partial<GraphQLError>);
  const result = withoutStackTraces(
    () =>
      new GraphQLError(message, {
        nodes: nodes ?? null,
        source: source ?? null,
        positions: positions ?? null,
        path: path ?? null,
        extensions: { ...extensions },
        // Plugins report the original error; clients do not get it.
        originalError: meaning.code === 'INTERNAL_SERVER_ERROR' && error instanceof Error ? error : null,
      }),
  );
  masked.set(result, meaning);
  return result;
}

/** Masks an error outside an execution, where errors rarely have locations. */
export function toErrorResponse(error: unknown, options: MaskOptions) {
  if (error instanceof GraphQLError) {
    const entry = maskError(error, options);
    const { code, status, headers } = publicError(entry);
    return { message: entry.message, entry, code, status, headers };
  }
  const { message, extensions, code, status, headers } = translate(error, options);
  return { message, entry: { message, extensions }, code, status, headers };
}

const UNMASKED: PublicError = {
  code: 'INTERNAL_SERVER_ERROR',
  status: 500,
  negotiable: false,
  headers: {},
  retriable: true,
};

export function publicError(error: GraphQLError): PublicError {
  return masked.get(error) ?? UNMASKED;
}

export function databaseKindOf(error: unknown): DatabaseErrorKind | undefined {
  const origin = findOrigin(error);
  return origin instanceof DatabaseError ? origin.kind : undefined;
}
