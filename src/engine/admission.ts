import type { GraphQLError } from 'graphql';
import { canExecute, credentialsMissing, isAnonymous, isSession } from '../auth/principal.ts';
import { ApiError } from '../platform/errors.ts';
import { readField } from '../platform/request-fields.ts';
import { fieldNamed, needsMoreThan } from './core/permissions.ts';
import type { DocumentCache } from './documents/document-cache.ts';
import { type createOperationLimiter, refuseOfCaller } from './documents/limits.ts';
import {
  asksForVisibleHeartbeats,
  MULTIPART,
  type OperationHead,
  type OperationRequest,
} from './documents/operation-request.ts';
import {
  type OperationParams,
  onlyLooksAtSchema,
  type PreparedDocument,
  type PreparedOperation,
} from './documents/prepared-operation.ts';
import type { OperationPlugin, OperationStages } from './operation/lifecycle.ts';

/** Checks that a kind of operation may be requested in this way. Throws BAD_REQUEST. */
export type TransportCheck = (
  kind: PreparedOperation['kind'],
  method: string,
  state: OperationRequest,
) => void;

function notAcceptable(kind: PreparedOperation['kind'], needed: string): ApiError {
  const message = `The Accept header of a ${kind} must allow ${needed}.`;
  return new ApiError('BAD_REQUEST', message, { status: 406 });
}

/** Checks that the method and the accepted media types fit the kind of operation. Of a stream, `checkStream` does. */
function checkTransport(
  kind: PreparedOperation['kind'],
  method: string,
  { mediaType, headOnly }: OperationRequest,
): void {
  if (kind === 'subscription' && headOnly) {
    const headers = { allow: 'GET, POST' };
    throw new ApiError('BAD_REQUEST', 'Subscriptions require GET or POST.', { status: 405, headers });
  }
  if (kind === 'mutation' && method !== 'POST') {
    throw new ApiError('BAD_REQUEST', 'Mutations require POST.', { status: 405, headers: { allow: 'POST' } });
  }
  if (kind !== 'subscription' && mediaType === undefined)
    throw notAcceptable(kind, 'application/graphql-response+json or application/json');
}

/** Of a valid document only: that a field does not exist says more than that it cannot be streamed. */
function checkStream(kind: PreparedOperation['kind'], { streamType, checkedOnly }: OperationRequest): void {
  if (kind === 'subscription' && streamType === undefined && !checkedOnly)
    throw notAcceptable(kind, `text/event-stream or ${MULTIPART}`);
}

export interface AdmissionOptions {
  readonly documents: DocumentCache;
  readonly limiter: OperationLimiter;
  /** The refusal of a mutation with a session that another site made a browser send; undefined if it is allowed. */
  readonly checkOrigin: (request: OperationHead) => ApiError | undefined;
  /** The stage of plugins. */
  readonly admit: NonNullable<OperationStages['admit']>;
}

type OperationLimiter = ReturnType<typeof createOperationLimiter>;

/** Refuses operations over the limits of depth, fields and complexity. */
export const useLimits = ({ check }: Pick<OperationLimiter, 'check'>): OperationPlugin => ({
  name: 'limits',
  stages: { admit: check },
});

/** Finds the operation of a request and decides about it before any of it runs. */
export function createAdmission({ documents, limiter, checkOrigin, admit }: AdmissionOptions) {
  return {
    /** Returns the operation of a request in its document, which may run if it is valid. Throws the refusal. */
    admit(
      document: PreparedDocument,
      params: OperationParams,
      request: OperationHead,
      state: OperationRequest,
      transport: TransportCheck = checkTransport,
    ): PreparedOperation {
      const open = canExecute(state.caller);
      let operation: PreparedOperation;
      try {
        operation = document.operation(params.operationName);
      } catch (error) {
        throw open ? error : credentialsMissing();
      }
      const { kind, name } = operation;
      state.operationKind = kind;
      if (name !== undefined) state.operationName = name;
      if (!open && !(documents.introspection && onlyLooksAtSchema(operation))) throw credentialsMissing();
      const crossSite = kind === 'mutation' && isSession(state.caller) ? checkOrigin(request) : undefined;
      if (crossSite !== undefined) throw crossSite;
      transport(kind, request.method, state);
      const variables = params.variables ?? {};
      const cost = limiter.costOf(operation, variables);
      state.complexity = cost.complexity;
      if (readField(request.headers, 'x-query-cost') !== undefined) state.cost = cost;
      admit(operation, cost);
      // Without credentials, some fields may be read (contract section 3). Whoever asks for others gets none.
      const { caller } = state;
      const closed = isAnonymous(caller)
        ? cost.fields.find((field) => needsMoreThan(caller.scopes, field))
        : undefined;
      if (closed !== undefined) throw credentialsMissing(fieldNamed(closed));
      state.showsEventId = kind === 'query' && readField(request.headers, 'x-show-event-id') !== undefined;
      if (kind === 'subscription') {
        refuseOfCaller(cost.fields);
        const { extensions } = params;
        state.visibleHeartbeats = asksForVisibleHeartbeats({ url: request.url, extensions });
      }
      return operation;
    },
    /** Returns the errors of an admitted operation or of its variables. */
    validate(
      operation: PreparedOperation,
      { variables }: OperationParams,
      request: OperationHead,
      state: OperationRequest,
    ): readonly GraphQLError[] {
      const errors = documents.validate(operation.document);
      if (errors.length > 0) return errors;
      checkStream(operation.kind, state);
      state.deprecated = documents.deprecatedIn(operation, variables);
      state.showsDeprecations = readField(request.headers, 'x-show-deprecations') !== undefined;
      // With an Idempotency-Key, a reused key is reported before variables that do not fit.
      const keyed = operation.kind === 'mutation' && request.headers.has('idempotency-key');
      return keyed ? errors : documents.checkVariables(operation, variables);
    },
  };
}
