import type { GraphQLError } from 'graphql';
import { canExecute, credentialsMissing, isAnonymous, isSession } from '../auth/principal.ts';
import { ApiError } from '../platform/errors.ts';
import { readField } from '../platform/request-fields.ts';
import { fieldNamed, needsMoreThan } from './core/permissions.ts';
import type { DocumentCache } from './documents/document-cache.ts';
import { type createOperationLimiter, rejectForCaller } from './documents/limits.ts';
import { MULTIPART, type OperationHead, type OperationRequest } from './documents/operation-request.ts';
import type {
  AdmittedOperation,
  AskedOperation,
  MeasuredOperation,
  RequestedDocument,
  SelectedOperation,
  ValidatedOperation,
} from './documents/operation-stages.ts';
import { onlyLooksAtSchema, type PreparedOperation } from './documents/prepared-operation.ts';
import { asksForVisibleHeartbeats } from './events/last-event-id.ts';
import type { OperationPlugin, OperationStages } from './operation/lifecycle.ts';

function notAcceptable(kind: PreparedOperation['kind'], needed: string): ApiError {
  const message = `The Accept header of a ${kind} must allow ${needed}.`;
  return new ApiError('BAD_REQUEST', message, { status: 406 });
}

/**
 * `checkStream` checks the media type of streams after validation.
 * @throws {ApiError} BAD_REQUEST
 */
function checkTransport(
  kind: PreparedOperation['kind'],
  method: string,
  { mediaType, headOnly }: OperationRequest,
): void {
  if (kind === 'subscription' && headOnly) {
    const headers = { allow: 'GET, POST' };
    throw new ApiError('BAD_REQUEST', `Subscriptions require GET or POST, but the method is ${method}.`, {
      status: 405,
      headers,
    });
  }
  if (kind === 'mutation' && method !== 'POST') {
    throw new ApiError('BAD_REQUEST', `Mutations require POST, but the method is ${method}.`, {
      status: 405,
      headers: { allow: 'POST' },
    });
  }
  if (kind !== 'subscription' && mediaType === undefined)
    throw notAcceptable(kind, 'application/graphql-response+json or application/json');
}

/** Runs after validation, because the error for an unknown field is more helpful than the error for the media type. */
function checkStream(kind: PreparedOperation['kind'], { streamType }: OperationRequest): void {
  if (kind === 'subscription' && streamType === undefined)
    throw notAcceptable(kind, `text/event-stream or ${MULTIPART}`);
}

export interface AdmissionOptions {
  readonly documents: DocumentCache;
  readonly limiter: OperationLimiter;
  /** Rejects a mutation that another site made a browser send with a session. */
  readonly checkOrigin: (request: OperationHead) => ApiError | undefined;
  readonly admit: NonNullable<OperationStages['admit']>;
}

type OperationLimiter = ReturnType<typeof createOperationLimiter>;

export const useLimits = ({ check }: Pick<OperationLimiter, 'check'>): OperationPlugin => ({
  name: 'limits',
  stages: { admit: check },
});

export function createAdmission({ documents, limiter, checkOrigin, admit }: AdmissionOptions) {
  return {
    /** @throws {GraphQLError} if the document has no such operation */
    select(
      { document, published }: RequestedDocument,
      { params, sender }: AskedOperation,
    ): SelectedOperation {
      try {
        return { operation: document.operation(params.operationName), published };
      } catch (error) {
        throw canExecute(sender.caller) ? error : credentialsMissing();
      }
    },
    /** @throws {ApiError} if the caller may not request the operation in this way */
    measure(
      selected: SelectedOperation,
      requested: AskedOperation,
      check = checkTransport,
    ): MeasuredOperation {
      const { operation } = selected;
      const { params, request, sender } = requested;
      if (!canExecute(sender.caller) && !(documents.introspection && onlyLooksAtSchema(operation)))
        throw credentialsMissing();
      const isChecked = operation.kind === 'mutation' && isSession(sender.caller);
      const crossSite = isChecked ? checkOrigin(request) : undefined;
      if (crossSite !== undefined) throw crossSite;
      check(operation.kind, request.method, sender);
      const cost = limiter.costOf(operation, params.variables ?? {});
      const isShown = readField(request.headers, 'x-show-cost') !== undefined;
      const { complexity, depth } = cost;
      return { ...selected, cost, shownCost: isShown ? { complexity, depth } : undefined };
    },
    /** @throws {ApiError} the reason why the operation may not run, even if it is valid */
    admit(measured: MeasuredOperation, { params, request, sender }: AskedOperation): AdmittedOperation {
      const { operation, cost } = measured;
      const { kind } = operation;
      const { caller } = sender;
      const { url, headers } = request;
      admit(operation, cost);
      // Callers without credentials may read some fields only (contract: credentials).
      const closed = isAnonymous(caller)
        ? cost.fields.find((field) => needsMoreThan(caller.scopes, field))
        : undefined;
      if (closed !== undefined) throw credentialsMissing(fieldNamed(closed));
      const showsEventId = kind === 'query' && readField(headers, 'x-show-event-id') !== undefined;
      if (kind !== 'subscription') return { ...measured, showsEventId, visibleHeartbeats: false };
      rejectForCaller(cost.fields);
      const visibleHeartbeats = asksForVisibleHeartbeats({ url, extensions: params.extensions });
      return { ...measured, showsEventId, visibleHeartbeats };
    },
    /** @returns the valid operation, or the errors of the document */
    validate(
      admitted: AdmittedOperation,
      { params, request, sender }: AskedOperation,
      check = checkStream,
    ): ValidatedOperation | readonly GraphQLError[] {
      const { operation } = admitted;
      const errors = documents.validate(operation.document);
      if (errors.length > 0) return errors;
      check(operation.kind, sender);
      const deprecated = documents.deprecatedIn(operation, params.variables);
      const showsDeprecations = readField(request.headers, 'x-show-deprecations') !== undefined;
      return { ...admitted, deprecated, showsDeprecations };
    },
    validateVariables({ operation }: ValidatedOperation, requested: AskedOperation): readonly GraphQLError[] {
      const { params, request } = requested;
      // With an Idempotency-Key, a reused key is reported before invalid variables.
      const isKeyed = operation.kind === 'mutation' && request.headers.has('idempotency-key');
      return isKeyed ? [] : documents.checkVariables(operation, params.variables);
    },
  };
}
