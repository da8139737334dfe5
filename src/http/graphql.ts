import type { GraphQLError, GraphQLSchema } from 'graphql';
import type { GraphQLParams } from 'graphql-yoga';
import { canExecute, credentialsMissing } from '../auth/principal.ts';
import type { createAdmission, TransportCheck } from '../engine/admission.ts';
import { confirmCaller, type Trace } from '../engine/core/context.ts';
import { maskError, publicError } from '../engine/core/mask-error.ts';
import type {
  OperationParams,
  PreparedDocument,
  PreparedOperation,
  RequestedDocuments,
} from '../engine/documents/prepared-operation.ts';
import { forgetUndeclared } from '../engine/documents/variables.ts';
import type { Execute, Subscribe } from '../engine/operation/lifecycle.ts';
import type { ContextOf, OperationArgs, OperationContext } from '../engine/operation/operation-context.ts';
import { errorsOf, type Outcome, type Refused, refused, type Single } from '../engine/operation/outcome.ts';
import { codeOf } from '../engine/subscriptions/event-responses.ts';
import { refusalOf, requireSubscription } from '../engine/subscriptions/subscriber.ts';
import { ApiError } from '../platform/errors.ts';
import type { Logger } from '../platform/log/log.ts';
import type { Attributes, Span } from '../platform/tracing/tracing.ts';
import { badRequest, isObject, parseJson, readJsonBody } from './body.ts';
import type { Answer, RequestState } from './exchange.ts';
import { type HttpRequest, PlainRequest, type RequestUrl } from './message.ts';
import type { Responder } from './response/responder.ts';

/** The members of a request. Until they are checked, a client may have sent anything as them. */
export type SentParams = GraphQLParams & { readonly documentId?: string };
type Unchecked = { readonly [Name in keyof SentParams]: unknown };

/** The id in the extension of Apollo and urql; undefined without it. */
function persistedId(extensions: unknown): string | undefined {
  const { persistedQuery } = isObject(extensions) ? extensions : {};
  const { sha256Hash } = isObject(persistedQuery) ? persistedQuery : {};
  return typeof sha256Hash === 'string' ? sha256Hash : undefined;
}

/** Its text, or the id of a published document. A text decides over the extension, which is nothing without the feature. */
function documentOf({
  query,
  documentId,
  extensions,
}: Unchecked): Pick<OperationParams, 'query' | 'documentId' | 'persistedQuery'> {
  if (documentId != null && typeof documentId !== 'string')
    throw badRequest('"documentId" must be a string.');
  if (query != null && typeof query !== 'string') throw badRequest('"query" must be a string.');
  if (typeof query === 'string') {
    if (documentId == null) return { query };
    throw badRequest('The request has both "query" and "documentId": send one of them.');
  }
  const persisted = persistedId(extensions);
  if (documentId != null && persisted !== undefined && persisted !== documentId)
    throw badRequest('The request names two documents.');
  if (documentId != null) return { documentId };
  if (persisted !== undefined) return { documentId: persisted, persistedQuery: true };
  throw badRequest('The request has no "query" and no "documentId".');
}

/** Checks the members that GraphQL over HTTP defines and those of documents, and ignores all others as it requires. */
function checkMembers(sent: Unchecked): OperationParams {
  const document = documentOf(sent);
  const { variables, operationName, extensions } = sent;
  if (operationName != null && typeof operationName !== 'string')
    throw badRequest('"operationName" must be a string.');
  if (variables != null && !isObject(variables)) throw badRequest('"variables" must be an object.');
  if (extensions != null && !isObject(extensions)) throw badRequest('"extensions" must be an object.');
  return {
    ...document,
    // An empty name selects no operation, over POST as over GET.
    ...(typeof operationName === 'string' && operationName !== '' ? { operationName } : {}),
    ...(variables == null ? {} : { variables }),
    ...(extensions == null ? {} : { extensions }),
  };
}

/** What the client sent: nobody has looked at the members yet. */
const isMembers = (value: unknown): value is SentParams => isObject(value);

async function postMembers(request: HttpRequest, maxBodyBytes: number): Promise<SentParams> {
  const body = await readJsonBody(request, maxBodyBytes);
  if (Array.isArray(body)) throw badRequest('Batching is not supported: send one operation per request.');
  if (!isMembers(body)) throw badRequest('The body must be a JSON object.');
  return body;
}

function getMembers(search: URLSearchParams): SentParams {
  const json = (name: string) => {
    const text = search.get(name);
    return text === null || text === '' ? undefined : parseJson(text, `"${name}"`);
  };
  const members: unknown = {
    query: search.get('query') ?? undefined,
    documentId: search.get('documentId') ?? undefined,
    operationName: search.get('operationName') || undefined,
    variables: json('variables'),
    extensions: json('extensions'),
  };
  return isMembers(members) ? members : {};
}

/**
 * Without credentials the answer is 401, whatever else is wrong (contract section 3). It tells strangers
 * nothing more.
 */
function withoutCredentials(error: unknown, { caller }: RequestState): unknown {
  return error instanceof ApiError && error.code === 'BAD_REQUEST' && !canExecute(caller)
    ? credentialsMissing()
    : error;
}

/** The GraphQL parameters of requests. All refuse as contract section 1 says. */
function graphqlParams(maxBodyBytes: number) {
  const membersOf = (request: HttpRequest, { searchParams }: RequestUrl) =>
    request.method === 'POST' ? postMembers(request, maxBodyBytes) : getMembers(searchParams);

  /** Reads the members of a request as they are. */
  async function parse(request: HttpRequest, url: RequestUrl, state: RequestState): Promise<SentParams> {
    if (state.fixedOperation !== undefined) return state.fixedOperation;
    try {
      return await membersOf(request, url);
    } catch (error) {
      throw withoutCredentials(error, state);
    }
  }

  /** Checks members, from whomever they are. What the credential fixes stays. Throws the refusal. */
  function check(members: SentParams, state: RequestState): OperationParams {
    if (state.fixedOperation !== undefined) return state.fixedOperation;
    try {
      return checkMembers(members);
    } catch (error) {
      throw withoutCredentials(error, state);
    }
  }

  return {
    parse,
    check,
    /** Reads the members of a request and checks them. Throws the refusal. */
    read: async (request: HttpRequest, url: RequestUrl, state: RequestState) =>
      check(await parse(request, url, state), state),
  };
}

/** No header says how an operation of the service's own is run: neither what it is shown with nor a key. */
const NO_REQUEST = new PlainRequest('POST', 'http://localhost/', {}, new Uint8Array());

/** Operation names can be as long as the body. */
const MAX_NAME = 100;

export interface PipelineOptions {
  readonly schema: GraphQLSchema;
  readonly requested: Pick<RequestedDocuments, 'find' | 'noteUse'>;
  /** Parses a document that a plugin has put in place of the requested one. Throws the refusal. */
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

/** By OpenTelemetry's conventions for GraphQL. The document is none of it: it may hold values. */
const operationAttributes = ({ kind, name }: PreparedOperation): Attributes => ({
  'graphql.operation.type': kind,
  'graphql.operation.name': name?.slice(0, MAX_NAME),
});

/** The steps from a GraphQL request to its response. */
export function createPipeline(options: PipelineOptions) {
  const { schema, requested, parseDocument, check, contextOf, execute, subscribe, inTime } = options;
  const { respond, maxBodyBytes, log } = options;
  const refuse = (error: unknown, { requestId }: RequestState) => refused(error, { requestId, log });

  /** Logs how an operation was answered, once it is. */
  async function logged<T>(outcome: Promise<T>, trace: Trace, { requestId }: RequestState): Promise<T> {
    try {
      return await outcome;
    } finally {
      log.debug({ requestId, paths: [...trace.paths], declined: trace.declined }, 'answer path');
    }
  }

  /** The document of a request, immediately if this process knows it. Throws and rejects with the refusal. */
  function find(params: OperationParams, state: RequestState): PreparedDocument | Promise<PreparedDocument> {
    const found = requested.find(params, state);
    return found instanceof Promise ? inTime(found) : found;
  }

  /** The errors of an admitted operation and of its variables, masked. */
  function validate(
    operation: PreparedOperation,
    params: OperationParams,
    request: HttpRequest,
    state: RequestState,
  ): readonly GraphQLError[] {
    const errors = check.validate(operation, params, request, state);
    if (errors.length === 0) return errors;
    const { requestId } = state;
    return errors.map((error) => maskError(error, { requestId, log }));
  }

  /** The context of a valid operation. */
  function buildContext(
    operation: PreparedOperation,
    request: HttpRequest,
    state: RequestState,
  ): OperationContext {
    state.document = operation.document.node;
    requested.noteUse(operation, state);
    const context = contextOf(operation, request, state);
    if (state.fast) context.onPath('fast_path');
    return context;
  }

  /** The arguments to execute an admitted and valid operation with, or its refusal. Throws the refusal too. */
  function prepare(
    document: PreparedDocument,
    params: OperationParams,
    request: HttpRequest,
    state: RequestState,
    transport?: TransportCheck,
  ): OperationArgs | Refused {
    const operation = check.admit(document, params, request, state, transport);
    const errors = validate(operation, params, request, state);
    if (errors.length > 0) return { kind: 'refused', errors };
    return {
      schema,
      document: document.node,
      contextValue: buildContext(operation, request, state),
      variableValues: params.variables ?? null,
      operationName: params.operationName ?? null,
    };
  }

  /** Runs an admitted operation. */
  async function perform(args: OperationArgs, state: RequestState): Promise<Outcome> {
    const { operation, trace } = args.contextValue;
    // A query has the caller confirmed as it reads.
    if (operation.kind !== 'query' && state.provisional !== undefined) await inTime(confirmCaller(state));
    const outcome = operation.kind === 'subscription' ? subscribe(args) : execute(args);
    return trace === undefined ? outcome : logged(outcome, trace, state);
  }

  /** As a step of the request's trace. */
  async function traced(args: OperationArgs, state: RequestState, request: Span): Promise<Outcome> {
    const { operation } = args.contextValue;
    const execution = request.child(operation.kind, { attributes: operationAttributes(operation) });
    state.span = execution;
    try {
      const outcome = await perform(args, state);
      const answered = outcome.kind === 'unresumable' ? outcome.outcome : outcome;
      const [error] = answered.kind === 'stream' ? [] : errorsOf(answered);
      execution.end({}, error && publicError(error).code);
      return outcome;
    } catch (error) {
      execution.end({}, codeOf(error));
      throw error;
    }
  }

  const execution = (args: OperationArgs, state: RequestState): Promise<Outcome> =>
    state.span === undefined ? perform(args, state) : traced(args, state, state.span);

  /** Runs the operation of a request. */
  function start(args: OperationArgs, { variables }: OperationParams, state: RequestState): Promise<Outcome> {
    if (variables != null) forgetUndeclared(args.contextValue.operation.node, variables);
    return execution(args, state);
  }

  const { read, parse, check: checkParams } = graphqlParams(maxBodyBytes);

  async function run(params: OperationParams, request: HttpRequest, state: RequestState): Promise<Outcome> {
    const admission = state.span?.child('admission');
    let args: OperationArgs | Refused | undefined;
    try {
      const found = find(params, state);
      const document = found instanceof Promise ? await found : found;
      args = prepare(document, params, request, state);
    } finally {
      admission?.end({}, args === undefined || 'kind' in args ? 'refused' : undefined);
    }
    return 'kind' in args ? args : start(args, params, state);
  }

  /** Reads the parameters, runs their operation and responds. Never rejects. */
  const answer: Answer = async (request, state, url) => {
    let outcome: Outcome;
    try {
      outcome = await run(await read(request, url, state), request, state);
    } catch (error) {
      outcome = refuse(error, state);
    }
    return respond(outcome, state);
  };

  return {
    answer,
    /** Rejects with the error that refuses the request. */
    read,
    /** The same without a check of the members, which plugins may change before `steps.check`. */
    parse,
    /** The steps of `answer` one by one, for plugins of Yoga that run between them. Each throws its refusal. */
    steps: {
      check: checkParams,
      find,
      parse: parseDocument,
      admit: check.admit,
      validate,
      buildContext,
      start,
    },
    /**
     * Runs an operation of the service's own for the caller of a request: its route has let them in, and no limit for
     * documents of clients counts. Never rejects.
     */
    async executeOwn(
      document: PreparedDocument,
      variables: Readonly<Record<string, unknown>>,
      state: RequestState,
    ): Promise<Outcome> {
      // A page runs several, each a step of its request.
      const { span } = state;
      try {
        const contextValue = contextOf(document.operation(undefined), NO_REQUEST, state);
        const { node } = document;
        return await execution({ schema, document: node, contextValue, variableValues: variables }, state);
      } catch (error) {
        return refuse(error, state);
      } finally {
        state.span = span;
      }
    },
    respond,
    /** What a subscription would be refused with; undefined if it would start. Nothing is started. Never rejects. */
    async checkSubscription(
      params: OperationParams,
      request: HttpRequest,
      state: RequestState,
    ): Promise<Single | undefined> {
      state.checkedOnly = true;
      try {
        const document = await requested.find(params, state);
        const args = prepare(document, params, request, state, requireSubscription);
        return 'kind' in args ? args : await refusalOf(args, log);
      } catch (error) {
        return refuse(error, state);
      }
    },
  };
}

export type Pipeline = ReturnType<typeof createPipeline>;

/** The steps from the members of a request to the outcome of its operation. */
export type Steps = Pipeline['steps'];
