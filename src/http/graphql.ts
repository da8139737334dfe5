import type { GraphQLError, GraphQLSchema } from 'graphql';
import type { createAdmission } from '../engine/admission.ts';
import { type Trace, verifyCaller } from '../engine/core/context.ts';
import { maskError, publicError } from '../engine/core/mask-error.ts';
import type { OperationRequest } from '../engine/documents/operation-request.ts';
import type {
  AdmittedOperation,
  AskedOperation,
  RequestedDocument,
  RequestedDocuments,
  ValidatedOperation,
} from '../engine/documents/operation-stages.ts';
import type {
  OperationParams,
  PreparedDocument,
  PreparedOperation,
} from '../engine/documents/prepared-operation.ts';
import { forgetUndeclared } from '../engine/documents/variables.ts';
import type { Execute, Subscribe } from '../engine/operation/lifecycle.ts';
import type {
  ContextOf,
  ExecutedOperation,
  OperationArgs,
  OperationContext,
} from '../engine/operation/operation-context.ts';
import {
  type OperationProgress,
  type OperationResult,
  reportOf,
} from '../engine/operation/operation-result.ts';
import {
  errorsOf,
  type Outcome,
  type Rejected,
  rejected,
  type SingleResult,
} from '../engine/operation/outcome.ts';
import { toErrorCode } from '../engine/subscriptions/event-responses.ts';
import { rejectionOf, requireSubscription } from '../engine/subscriptions/subscriber.ts';
import type { Logger } from '../platform/log/log.ts';
import type { Attributes, Span } from '../platform/tracing/tracing.ts';
import type { AdmittedRequest, RouteHandler } from './exchange.ts';
import { graphqlParams } from './graphql-params.ts';
import { type HttpRequest, PlainRequest } from './message.ts';
import type { Responder } from './response/responder.ts';

/** Internal operations have no request headers, such as `X-Show-Cost` or `Idempotency-Key`. */
const NO_REQUEST = new PlainRequest('POST', 'http://localhost/', {}, new Uint8Array());

/** A client may send an operation name as long as the body. */
const MAX_NAME = 100;

export interface PipelineOptions {
  readonly schema: GraphQLSchema;
  readonly requested: Pick<RequestedDocuments, 'find' | 'recordUse'>;
  /**
   * Parses a document that a plugin has put in place of the requested document.
   * @throws the rejection
   */
  readonly parseDocument: (text: string) => PreparedDocument;
  readonly check: ReturnType<typeof createAdmission>;
  readonly contextOf: ContextOf;
  readonly execute: Execute;
  readonly subscribe: Subscribe;
  /** Rejects with TIMEOUT if work before an operation takes longer than the operation may take. */
  readonly inTime: <T>(work: Promise<T>) => Promise<T>;
  readonly respond: Responder;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

/** Attributes follow OpenTelemetry's conventions for GraphQL, without the document, which may contain values. */
const operationAttributes = ({ kind, name }: PreparedOperation): Attributes => ({
  'graphql.operation.type': kind,
  'graphql.operation.name': name?.slice(0, MAX_NAME),
});

/**
 * An open stream retains the returned object, but not the request (decisions/0009-request-object-lifetime.md).
 */
export function senderOf(admitted: AdmittedRequest): OperationRequest {
  const { requestId, caller, clientAddress, credentials, mediaType, streamType } = admitted;
  const { headOnly, connection, disconnectSignal, reservation, work } = admitted;
  return {
    requestId,
    caller,
    clientAddress,
    unverifiedSession: credentials.unverifiedSession,
    mediaType,
    streamType,
    headOnly,
    connection,
    disconnectSignal,
    reservation,
    work,
  };
}

/** Headers and the limits for documents of clients do not apply to internal operations. */
const asInternalOperation = (document: PreparedDocument): ExecutedOperation => ({
  operation: document.operation(undefined),
  published: undefined,
  shownCost: undefined,
  showsEventId: false,
  visibleHeartbeats: false,
});

export interface OperationRun extends AskedOperation {
  readonly request: HttpRequest;
  readonly progress: OperationProgress;
  /** True if a subscription is only checked and not started. */
  readonly isCheckOnly: boolean;
}

const NOTHING_REACHED: OperationProgress = { reached: undefined, effects: undefined };

/** A client that requests a stream token need not accept a stream. */
const acceptsAnyStream = () => undefined;

export function createPipeline(options: PipelineOptions) {
  const { schema, requested, parseDocument, check, contextOf, execute, subscribe, inTime } = options;
  const { respond, maxBodyBytes, log } = options;
  const reject = (error: unknown, { requestId }: OperationRequest) => rejected(error, { requestId, log });

  /** Logs which path made the response, once the response is complete. */
  async function logged<T>(outcome: Promise<T>, trace: Trace, { requestId }: OperationRequest): Promise<T> {
    try {
      return await outcome;
    } finally {
      log.emit('graphql.execution_path', {
        requestId,
        executionPaths: [...trace.paths],
        fallbackReason: trace.fallbackReason,
      });
    }
  }

  /**
   * Stage `find` returns a promise only if the document is not cached. The rejection is thrown or rejects the
   * promise.
   */
  function find(
    params: OperationParams,
    sender: OperationRequest,
  ): RequestedDocument | Promise<RequestedDocument> {
    const found = requested.find(params, sender);
    return found instanceof Promise ? inTime(found) : found;
  }

  function admit(document: RequestedDocument, run: OperationRun): AdmittedOperation {
    const { progress, isCheckOnly } = run;
    const selected = check.select(document, run);
    progress.reached = selected;
    const measured = check.measure(selected, run, isCheckOnly ? requireSubscription : undefined);
    progress.reached = measured;
    const admitted = check.admit(measured, run);
    progress.reached = admitted;
    return admitted;
  }

  /**
   * Runs the stage `validate`.
   * @returns the valid operation, or the masked errors of the document or its variables
   */
  function validate(admitted: AdmittedOperation, run: OperationRun): ValidatedOperation | Rejected {
    const { requestId } = run.sender;
    const withErrors = (errors: readonly GraphQLError[]): Rejected => ({
      kind: 'rejected',
      errors: errors.map((error) => maskError(error, { requestId, log })),
    });
    const validated = check.validate(admitted, run, run.isCheckOnly ? acceptsAnyStream : undefined);
    if (!('operation' in validated)) return withErrors(validated);
    run.progress.reached = validated;
    const errors = check.validateVariables(validated, run);
    return errors.length === 0 ? validated : withErrors(errors);
  }

  function buildContext(validated: ValidatedOperation, run: OperationRun): OperationContext {
    const { request, sender, progress } = run;
    requested.recordUse(validated, sender);
    const context = contextOf(validated, request, sender);
    progress.effects = context.effects;
    return context;
  }

  async function perform(args: OperationArgs): Promise<Outcome> {
    const { operation, trace, sender } = args.contextValue;
    // A query verifies the caller's session in its SQL statement.
    if (operation.kind !== 'query' && sender.unverifiedSession !== undefined)
      await inTime(verifyCaller(sender));
    const outcome = operation.kind === 'subscription' ? subscribe(args) : execute(args);
    return trace === undefined ? outcome : logged(outcome, trace, sender);
  }

  async function traced(args: OperationArgs, request: Span): Promise<Outcome> {
    const { operation, sender } = args.contextValue;
    const execution = request.child(operation.kind, { attributes: operationAttributes(operation) });
    sender.work.span = execution;
    try {
      const outcome = await perform(args);
      const finished = outcome.kind === 'unresumable' ? outcome.outcome : outcome;
      const [error] = finished.kind === 'stream' ? [] : errorsOf(finished);
      execution.end({}, error && publicError(error).code);
      return outcome;
    } catch (error) {
      execution.end({}, toErrorCode(error));
      throw error;
    } finally {
      // A page runs several operations, so the request's span is restored. An open stream belongs to no span.
      sender.work.span = operation.kind === 'subscription' ? undefined : request;
    }
  }

  function execution(args: OperationArgs): Promise<Outcome> {
    const { span } = args.contextValue.sender.work;
    return span === undefined ? perform(args) : traced(args, span);
  }

  function start(args: OperationArgs, { variables }: OperationParams): Promise<Outcome> {
    if (variables != null) forgetUndeclared(args.contextValue.operation.node, variables);
    return execution(args);
  }

  const { read, parse, check: checkParams } = graphqlParams(maxBodyBytes);

  /** The promise rejects with the rejection. */
  async function prepare(run: OperationRun, isFast: boolean): Promise<OperationArgs | Rejected> {
    const { params, sender } = run;
    const found = find(params, sender);
    const admitted = admit(found instanceof Promise ? await found : found, run);
    const validated = validate(admitted, run);
    if ('kind' in validated) return validated;
    const contextValue = buildContext(validated, run);
    if (isFast) contextValue.onPath('fast_path');
    const { variables: variableValues = null, operationName = null } = params;
    const document = validated.operation.document.node;
    return { schema, document, contextValue, variableValues, operationName };
  }

  const runOf = (
    params: OperationParams,
    request: HttpRequest,
    sender: OperationRequest,
    isCheckOnly: boolean,
  ): OperationRun => ({
    params,
    request,
    sender,
    progress: { reached: undefined, effects: undefined },
    isCheckOnly,
  });

  /** The promise never rejects. */
  const handler: RouteHandler = async (request, admitted, url) => {
    const sender = senderOf(admitted);
    let progress: OperationProgress | undefined;
    let outcome: Outcome;
    try {
      const params = await read(request, url, admitted);
      const run = runOf(params, request, sender, false);
      progress = run.progress;
      const admission = sender.work.span?.child('admission');
      let args: OperationArgs | Rejected | undefined;
      try {
        args = await prepare(run, admitted.fast);
      } finally {
        admission?.end({}, args === undefined || 'kind' in args ? 'rejected' : undefined);
      }
      outcome = 'kind' in args ? args : await start(args, params);
    } catch (error) {
      outcome = reject(error, sender);
    }
    return respond({ outcome, ...(progress ?? NOTHING_REACHED) }, sender);
  };

  return {
    handler,
    read,
    /** Plugins may change the members before `steps.check`, so `parse` does not check them. */
    parse,
    /** Plugins of Yoga run between these steps of `handler`. Each step throws its rejection. */
    steps: {
      check: checkParams,
      find,
      parse: parseDocument,
      admit,
      validate,
      buildContext,
      start,
    },
    /**
     * Runs an internal operation for the caller of a request, whom the route must have admitted. The promise never
     * rejects.
     */
    async executeInternal(
      document: PreparedDocument,
      variables: Readonly<Record<string, unknown>>,
      admitted: AdmittedRequest,
    ): Promise<OperationResult> {
      const sender = senderOf(admitted);
      const contextValue = contextOf(asInternalOperation(document), NO_REQUEST, sender);
      const { effects } = contextValue;
      const args = { schema, document: document.node, contextValue, variableValues: variables };
      const outcome = await execution(args).catch((error: unknown) => reject(error, sender));
      return { outcome, reached: undefined, effects };
    },
    respond,
    /**
     * Checks a subscription without starting it. The promise never rejects.
     * @returns the rejection, if any, and the report
     */
    async checkSubscription(params: OperationParams, request: HttpRequest, admitted: AdmittedRequest) {
      const sender = senderOf(admitted);
      const run = runOf(params, request, sender, true);
      let rejection: SingleResult | undefined;
      try {
        const args = await prepare(run, admitted.fast);
        rejection = 'kind' in args ? args : await rejectionOf(args, log);
      } catch (error) {
        rejection = reject(error, sender);
      }
      return { rejection, operation: reportOf(run.progress, true) };
    },
  };
}

export type Pipeline = ReturnType<typeof createPipeline>;

export type Steps = Pipeline['steps'];
