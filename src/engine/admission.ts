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
 * Checks that the method and the accepted media types fit the kind of operation; `checkStream` does so for streams. Throws
 * BAD_REQUEST.
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

/** Of a valid document only: that a field does not exist says more than that it cannot be streamed. */
function checkStream(kind: PreparedOperation['kind'], { streamType }: OperationRequest): void {
  if (kind === 'subscription' && streamType === undefined)
    throw notAcceptable(kind, `text/event-stream or ${MULTIPART}`);
}

export interface AdmissionOptions {
  readonly documents: DocumentCache;
  readonly limiter: OperationLimiter;
  /** The rejection of a mutation with a session that another site made a browser send; undefined if it is allowed. */
  readonly checkOrigin: (request: OperationHead) => ApiError | undefined;
  /** The stage of plugins. */
  readonly admit: NonNullable<OperationStages['admit']>;
}

type OperationLimiter = ReturnType<typeof createOperationLimiter>;

/** Rejects operations over the limits of depth, fields and complexity. */
export const useLimits = ({ check }: Pick<OperationLimiter, 'check'>): OperationPlugin => ({
  name: 'limits',
  stages: { admit: check },
});

/** Finds the operation of a request and decides about the operation before any of it runs. */
export function createAdmission({ documents, limiter, checkOrigin, admit }: AdmissionOptions) {
  return {
    /** Selects the operation that a request names. @throws {GraphQLError} if the document has no such operation */
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
    /** Computes the cost of an operation that the caller may request in this way. @throws {ApiError} the rejection */
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
    /** Decides whether an operation may run if it is valid. @throws {ApiError} the rejection */
    admit(measured: MeasuredOperation, { params, request, sender }: AskedOperation): AdmittedOperation {
      const { operation, cost } = measured;
      const { kind } = operation;
      const { caller } = sender;
      const { url, headers } = request;
      admit(operation, cost);
      // Without credentials, some fields may be read (contract section 3). Whoever asks for others gets none.
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
    /**
     * Validates the document of an admitted operation.
     * @returns the valid operation, or the errors
     */
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
    /** @returns the errors of the variables of a valid operation */
    validateVariables({ operation }: ValidatedOperation, requested: AskedOperation): readonly GraphQLError[] {
      const { params, request } = requested;
      // With an Idempotency-Key, a reused key is reported before variables that do not fit.
      const isKeyed = operation.kind === 'mutation' && request.headers.has('idempotency-key');
      return isKeyed ? [] : documents.checkVariables(operation, params.variables);
    },
  };
}
