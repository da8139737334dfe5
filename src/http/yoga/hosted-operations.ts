import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
  isObjectType,
  print,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import type { Plugin, YogaInitialContext, YogaServerInstance } from 'graphql-yoga';
import type { PublishedBy } from '../../engine/documents/operation-request.ts';
import type {
  AdmittedOperation,
  RequestedDocument,
  ValidatedOperation,
} from '../../engine/documents/operation-stages.ts';
import type { OperationParams, PreparedDocument } from '../../engine/documents/prepared-operation.ts';
import type { OperationContext } from '../../engine/operation/operation-context.ts';
import { ApiError, OperatorError } from '../../platform/errors.ts';
import type { AdmittedRequest, Route } from '../exchange.ts';
import { type OperationRun, type Steps, senderOf } from '../graphql.ts';
import type { SentParams } from '../graphql-params.ts';
import type { RequestProgress } from '../lifecycle.ts';
import type { HttpRequest, HttpResponse, RequestUrl } from '../message.ts';
import type { HostedOperation, Results } from './yoga-result.ts';

/** Yoga copies this object into the context that plugins see. */
export interface YogaServerContext {
  /** `arrived` is the original request, because Yoga gets HEAD as GET. */
  readonly arrived: HttpRequest;
  readonly progress: RequestProgress;
  readonly url: RequestUrl;
  readonly made: Made;
}

/** Yoga copies its context, so the members that change are in a separate object. */
export interface Made {
  operation: HostedOperation | undefined;
  /** Plugins may replace the response, which is undefined if a plugin responds first. */
  response: HttpResponse | undefined;
}

/** Nothing is made yet. */
export const hostContext = (arrived: HttpRequest, progress: RequestProgress, url: RequestUrl) =>
  ({
    arrived,
    progress,
    url,
    made: { operation: undefined, response: undefined },
  }) satisfies YogaServerContext;

const newOperation = (admitted: AdmittedRequest): HostedOperation => ({
  sender: senderOf(admitted),
  progress: { reached: undefined, effects: undefined },
});

export function hostedOf({ made, progress }: YogaServerContext): HostedOperation {
  made.operation ??= newOperation(progress);
  return made.operation;
}

type Carried = YogaInitialContext & YogaServerContext;

export type OwnPlugin = Plugin<
  YogaServerContext & Partial<Omit<OperationContext, 'request'>>,
  YogaServerContext
>;

interface Run {
  readonly params: OperationParams;
  readonly request: HttpRequest;
  hosted: HostedOperation;
  readonly published: PublishedBy | undefined;
  /** `requested` is an error if the document has a syntax error. A plugin may replace the document. */
  requested: PreparedDocument | GraphQLError;
  node?: DocumentNode;
  admitted?: Admitted;
  /** `carried` is set if a plugin carries the operation, whose request was admitted under the plugin's route. */
  readonly carried?: RequestProgress;
  context?: OperationContext;
}

interface Admitted {
  readonly node: DocumentNode;
  readonly params: OperationParams;
  readonly operation: AdmittedOperation;
  validated: ValidatedOperation | undefined;
}

class InvalidError extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('the operation is not valid');
    this.name = 'InvalidError';
    this.errors = errors;
  }
}

/** A plugin carries the response, so the media types of the request's Accept header do not apply. */
const CARRIED = { mediaType: 'application/json', streamType: 'text/event-stream' } as const;
const SPECIFIED = new Set<unknown>(specifiedRules);
/**
 * Yoga itself sets these members of a context. An open stream retains all other members, which plugins have added.
 */
const OF_YOGA = new Set(['request', 'params', 'waitUntil', 'arrived', 'progress', 'url', 'made']);

const resolversOf = (schema: GraphQLSchema): readonly unknown[] =>
  Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type)
      ? Object.values(type.getFields()).flatMap(({ resolve, subscribe }) => [resolve, subscribe])
      : [],
  );

const runWith = ({ request, hosted }: Run, params: OperationParams): OperationRun => ({
  params,
  request,
  ...hosted,
  isCheckOnly: false,
});

export type Envelop = YogaServerInstance<YogaServerContext, object>['getEnveloped'];

export interface HostedOperationsOptions {
  readonly schema: GraphQLSchema;
  readonly steps: Steps;
  readonly results: Results;
  /** Applies the checks and limits of the route. The promise rejects with the rejection of the request. */
  readonly admit: (request: HttpRequest, progress: RequestProgress, url: RequestUrl) => Promise<unknown>;
  readonly route: Route;
}

/**
 * Replaces parse, validate, execute and subscribe of graphql-js by the service's steps. Admission and validation run
 * again before the execution, because plugins may have replaced or skipped them.
 */
export function createHostedOperations(options: HostedOperationsOptions) {
  const { schema, steps, results, admit: admitRequest, route } = options;
  const runs = new WeakMap<object, Run>();
  /** A plugin's parser cache returns the node of another request, so documents are found by node. */
  const prepared = new WeakMap<DocumentNode, PreparedDocument>();
  const resolvers = resolversOf(schema);
  /** Plugins wrap resolvers before the first request, so the result is computed once. */
  let resolversRun: boolean | undefined;
  function mustRunResolvers(): boolean {
    resolversRun ??= resolversOf(schema).some((resolver, index) => resolver !== resolvers[index]);
    return resolversRun;
  }

  /** A plugin can carry operations without HTTP requests, as in graphql-sse's single connection mode. */
  function carriedRun({ params, request, progress: arrived }: Carried): Run {
    const carried: RequestProgress = { ...arrived, ...CARRIED, route };
    const hosted = newOperation(carried);
    const checked = steps.check(params, carried);
    const found = steps.find(checked, hosted.sender);
    if (!(found instanceof Promise)) {
      const { document, published } = found;
      return { params: checked, request, hosted, published, requested: document, carried };
    }
    throw new ApiError(
      'BAD_REQUEST',
      'A plugin cannot request a published document that is not cached. Send "query" instead of "documentId".',
    );
  }

  function runOf(context: Carried): Run {
    const run = runs.get(context) ?? carriedRun(context);
    runs.set(context, run);
    return run;
  }

  /**
   * Admits an operation, also if a plugin has replaced its document.
   * @throws the rejection
   */
  function admit(run: Run, node: DocumentNode, params = run.params): Admitted {
    const { admitted, requested, published } = run;
    if (admitted?.node === node && admitted.params === params) return admitted;
    const isRequested = !(requested instanceof GraphQLError) && requested.node === node;
    const document = isRequested ? requested : (prepared.get(node) ?? steps.parse(print(node)));
    const operation = steps.admit({ document, published }, runWith(run, params));
    const made: Admitted = { node, params, operation, validated: undefined };
    run.admitted = made;
    return made;
  }

  /** Throws an InvalidError for an invalid operation, or the rejection. */
  function checked(run: Run, node: DocumentNode, params = run.params): ValidatedOperation {
    const admitted = admit(run, node, params);
    if (admitted.validated !== undefined) return admitted.validated;
    const validated = steps.validate(admitted.operation, runWith(run, params));
    if ('kind' in validated) throw new InvalidError(validated.errors);
    admitted.validated = validated;
    return validated;
  }

  function buildContext(run: Run, operation: ValidatedOperation): OperationContext {
    const built = steps.buildContext(operation, runWith(run, run.params));
    run.context = mustRunResolvers() ? { ...built, lookAhead: false } : built;
    return run.context;
  }

  /** Puts the service's members into a context. A stream also retains the members that plugins have added. */
  function completed(context: Carried, run: Run, validated: ValidatedOperation): OperationContext {
    const { operation } = validated;
    const own = run.context?.operation === operation ? run.context : buildContext(run, validated);
    const { request: _request, ...members } = own;
    const added =
      operation.kind === 'subscription'
        ? Object.entries(context).filter(([name]) => !OF_YOGA.has(name) && !(name in own))
        : [];
    return Object.assign(context, members, added.length === 0 ? {} : { added: Object.fromEntries(added) });
  }

  const rejected = (error: unknown, hosted: HostedOperation): ExecutionResult =>
    error instanceof InvalidError ? { errors: error.errors } : results.ofError(error, hosted);

  async function execute(args: ExecutionArgs) {
    const context: Carried = args.contextValue as Carried;
    const run = runOf(context);
    const variables = args.variableValues ?? undefined;
    const params =
      variables === run.params.variables ? run.params : { ...run.params, variables: { ...variables } };
    if (run.carried !== undefined) {
      await admitRequest(run.request, run.carried, context.url);
      run.hosted = newOperation(run.carried);
    }
    try {
      const validated = checked(run, args.document, params);
      const { operation } = validated;
      const outcome = await steps.start(
        {
          ...args,
          schema,
          document: operation.document.node,
          operationName: operation.name ?? null,
          contextValue: completed(context, run, validated),
        },
        params,
      );
      return results.of(outcome, run.hosted);
    } catch (error) {
      return rejected(error, run.hosted);
    }
  }

  const hooks: OwnPlugin = {
    onSchemaChange({ schema: replacement }) {
      if (replacement !== schema)
        throw new OperatorError(
          'A plugin of src/app/yoga-plugins.ts replaces the schema, which cannot work: operations are validated and planned for the schema of the service. useDeferStream is such a plugin; the service has no incremental delivery. See docs/contributing/yoga-plugins.md.',
        );
    },
    onParse({ context, setParseFn }) {
      setParseFn((source) => {
        const run = runOf(context);
        const text = typeof source === 'string' ? source : source.body;
        const { requested } = run;
        if (requested instanceof GraphQLError && text === (run.params.query ?? '')) throw requested;
        const isRequested = !(requested instanceof GraphQLError) && requested.text === text;
        const document = isRequested ? requested : steps.parse(text);
        run.requested = document;
        run.node = document.node;
        prepared.set(document.node, document);
        // `admit` throws rejections, because a plugin's parser cache would repeat an error thrown here for other
        // requests.
        return document.node;
      });
    },
    onValidate({ context, params: { documentAST }, setValidationFn }) {
      const run = runOf(context);
      run.node = documentAST;
      setValidationFn((given, node, rules: readonly ValidationRule[] = []) => {
        const { document } = admit(run, node).operation.operation;
        try {
          checked(run, node);
        } catch (error) {
          // Plugins cache the validation results of a document, so errors of variables are thrown.
          if (error instanceof InvalidError && !document.valid) return error.errors;
          throw error;
        }
        const added = rules.filter((rule) => !SPECIFIED.has(rule));
        return added.length === 0 ? [] : validate(given, node, added);
      });
      return undefined;
    },
    onContextBuilding({ context, extendContext }) {
      const run = runOf(context);
      if (run.node === undefined) return;
      const { request: _request, ...members } = buildContext(run, checked(run, run.node));
      extendContext(members);
    },
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(execute),
  };

  /** Plugins may resolve a syntax error, so the error is returned. Every other rejection is thrown. */
  async function requestedOf(
    params: OperationParams,
    { sender }: HostedOperation,
  ): Promise<RequestedDocument | GraphQLError> {
    try {
      return await steps.find(params, sender);
    } catch (error) {
      if (error instanceof GraphQLError) return error;
      throw error;
    }
  }

  /** Runs the operation of a request through the hooks of plugins. The promise never rejects. */
  async function run(members: SentParams, context: Carried, envelop: Envelop) {
    const { progress, request } = context;
    const hosted = hostedOf(context);
    const admission = progress.work.span?.child('admission');
    let isAdmitted = false;
    try {
      const params = steps.check(members, progress);
      const found = await requestedOf(params, hosted);
      const [requested, published] =
        found instanceof GraphQLError ? [found, undefined] : [found.document, found.published];
      const query = requested instanceof GraphQLError ? (params.query ?? '') : requested.text;
      const operation: Run = { params, request, hosted, published, requested };
      runs.set(context, operation);
      // Hooks of plugins and of Yoga must reveal nothing of a document that this caller may not execute.
      if (!(requested instanceof GraphQLError)) admit(operation, requested.node);
      Object.assign(context, { params: { ...params, query } });
      const enveloped = envelop(context);
      const document = enveloped.parse(query);
      admit(operation, document);
      const errors = enveloped.validate(enveloped.schema, document);
      if (errors.length > 0) return { errors };
      const contextValue = await enveloped.contextFactory();
      isAdmitted = true;
      admission?.end({});
      const { variables, operationName } = params;
      const args = { schema, document, contextValue, variableValues: variables, operationName };
      const kind = getOperationAST(document, operationName)?.operation;
      return await (kind === 'subscription' ? enveloped.subscribe(args) : enveloped.execute(args));
    } catch (error) {
      return rejected(error, hosted);
    } finally {
      if (!isAdmitted) admission?.end({}, 'rejected');
    }
  }

  return { hooks, run };
}
