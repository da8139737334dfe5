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
import type {
  OperationParams,
  PreparedDocument,
  PreparedOperation,
} from '../../engine/documents/prepared-operation.ts';
import type { OperationContext } from '../../engine/operation/operation-context.ts';
import { ApiError, OperatorError } from '../../platform/errors.ts';
import { RequestState, type Route } from '../exchange.ts';
import type { SentParams, Steps } from '../graphql.ts';
import type { HttpRequest, RequestUrl } from '../message.ts';
import type { Results } from './yoga-result.ts';

/** What Yoga carries along with a request, as a part of the context that plugins see. */
export interface Travelling {
  /** The request as it arrived. Yoga gets HEAD as GET. */
  readonly arrived: HttpRequest;
  readonly state: RequestState;
  readonly url: RequestUrl;
}

type Carried = YogaInitialContext & Travelling;

/** Plugins of the service, which know what Yoga carries along. */
export type OwnPlugin = Plugin<Travelling & Partial<Omit<OperationContext, 'request'>>, Travelling>;

/** An operation on its way through the hooks of plugins. */
interface Run {
  readonly params: OperationParams;
  readonly request: HttpRequest;
  readonly state: RequestState;
  /** The requested document, or the syntax error of its text. A plugin may put another document in its place. */
  requested: PreparedDocument | GraphQLError;
  /** The document that hooks have seen last. */
  node?: DocumentNode;
  admitted?: Admitted;
  /** True for an operation that a plugin carries, whose request is admitted under the route of the plugin. */
  readonly isCarried?: boolean;
  /** The service's own members of the context. */
  context?: OperationContext;
}

interface Admitted {
  readonly node: DocumentNode;
  readonly params: OperationParams;
  readonly operation: PreparedOperation;
  isValid: boolean;
}

/** The errors of an operation that is not valid. */
class InvalidError extends Error {
  readonly errors: readonly GraphQLError[];

  constructor(errors: readonly GraphQLError[]) {
    super('the operation is not valid');
    this.name = 'InvalidError';
    this.errors = errors;
  }
}

/** A plugin carries the response, so the media types that the request accepts are for other responses. */
const CARRIED = { mediaType: 'application/json', streamType: 'text/event-stream' } as const;
const SPECIFIED = new Set<unknown>(specifiedRules);
/** What Yoga puts into a context. An open stream keeps the rest that plugins have added. */
const OF_YOGA = new Set(['request', 'params', 'waitUntil', 'arrived', 'state', 'url']);

const resolversOf = (schema: GraphQLSchema): readonly unknown[] =>
  Object.values(schema.getTypeMap()).flatMap((type) =>
    isObjectType(type)
      ? Object.values(type.getFields()).flatMap(({ resolve, subscribe }) => [resolve, subscribe])
      : [],
  );

export type Envelop = YogaServerInstance<Travelling, object>['getEnveloped'];

export interface HostedOperationsOptions {
  readonly schema: GraphQLSchema;
  readonly steps: Steps;
  readonly results: Results;
  /** Checks and counts a request as the route demands. Rejects with the refusal. */
  readonly admit: (request: HttpRequest, state: RequestState, url: RequestUrl) => Promise<unknown>;
  readonly route: Route;
}

/**
 * Yoga's engine: the service's own steps in place of parse, validate, execute and subscribe of graphql-js. Admission and
 * validation are demanded again before the execution, whatever plugins have replaced or skipped.
 */
export function createHostedOperations({
  schema,
  steps,
  results,
  admit: admitRequest,
  route,
}: HostedOperationsOptions) {
  const runs = new WeakMap<object, Run>();
  /** What nodes were prepared from. A parser cache returns the node of another request. */
  const prepared = new WeakMap<DocumentNode, PreparedDocument>();
  const resolvers = resolversOf(schema);
  /** Plugins that wrap resolvers do so before the first request. */
  let resolversRun: boolean | undefined;
  function mustRunResolvers(): boolean {
    resolversRun ??= resolversOf(schema).some((resolver, index) => resolver !== resolvers[index]);
    return resolversRun;
  }

  /** The run of an operation that a plugin carries by itself, such as those of a single connection. */
  function carriedRun({ params, request, state: arrived }: Carried): Run {
    const state: RequestState = Object.assign(Object.create(RequestState.prototype), arrived, CARRIED, {
      route,
    });
    const checked = steps.check(params, state);
    const requested = steps.find(checked, state);
    if (!(requested instanceof Promise))
      return { params: checked, request, state, requested, isCarried: true };
    throw new ApiError('BAD_REQUEST', 'Published documents cannot be requested in this way.');
  }

  function runOf(context: Carried): Run {
    const run = runs.get(context) ?? carriedRun(context);
    runs.set(context, run);
    return run;
  }

  /** Admits an operation of a document, whoever put the document there. Throws the refusal. */
  function admit(run: Run, node: DocumentNode, params = run.params): Admitted {
    const { admitted, requested, request, state } = run;
    if (admitted?.node === node && admitted.params === params) return admitted;
    const isRequested = !(requested instanceof GraphQLError) && requested.node === node;
    const document = isRequested ? requested : (prepared.get(node) ?? steps.parse(print(node)));
    run.admitted = {
      node,
      params,
      operation: steps.admit(document, params, request, state),
      isValid: false,
    };
    return run.admitted;
  }

  /** Admits and validates. Throws the refusal, or InvalidError. */
  function checked(run: Run, node: DocumentNode, params = run.params): PreparedOperation {
    const admitted = admit(run, node, params);
    if (admitted.isValid) return admitted.operation;
    const errors = steps.validate(admitted.operation, params, run.request, run.state);
    if (errors.length > 0) throw new InvalidError(errors);
    admitted.isValid = true;
    return admitted.operation;
  }

  function buildContext(run: Run, operation: PreparedOperation): OperationContext {
    const built = steps.buildContext(operation, run.request, run.state);
    run.context = mustRunResolvers() ? { ...built, lookAhead: false } : built;
    return run.context;
  }

  /** Puts the service's members into a context. Those of a stream are kept with what plugins have added. */
  function completed(context: Carried, run: Run, operation: PreparedOperation): OperationContext {
    const own = run.context?.operation === operation ? run.context : buildContext(run, operation);
    const { request: _request, ...members } = own;
    const added =
      operation.kind === 'subscription'
        ? Object.entries(context).filter(([name]) => !OF_YOGA.has(name) && !(name in own))
        : [];
    return Object.assign(context, members, added.length === 0 ? {} : { added: Object.fromEntries(added) });
  }

  const rejected = (error: unknown, state: RequestState): ExecutionResult =>
    error instanceof InvalidError ? { errors: error.errors } : results.ofError(error, state);

  async function execute(args: ExecutionArgs) {
    const context: Carried = args.contextValue as Carried;
    const run = runOf(context);
    const { state } = run;
    const variables = args.variableValues ?? undefined;
    const params =
      variables === run.params.variables ? run.params : { ...run.params, variables: { ...variables } };
    if (run.isCarried) await admitRequest(run.request, state, context.url);
    try {
      const operation = checked(run, args.document, params);
      const outcome = await steps.start(
        {
          ...args,
          schema,
          document: operation.document.node,
          operationName: operation.name ?? null,
          contextValue: completed(context, run, operation),
        },
        params,
        state,
      );
      return results.of(outcome, state);
    } catch (error) {
      return rejected(error, state);
    }
  }

  const hooks: OwnPlugin = {
    onSchemaChange({ schema: replacement }) {
      if (replacement !== schema)
        throw new OperatorError(
          'A plugin of src/app/yoga-plugins.ts replaces the schema, which cannot work: operations are validated and planned for the schema of the service. useDeferStream is such a plugin; the service has no incremental delivery. See docs/plugins.md.',
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
        // Refusals are for `admit`: a cache of plugins keeps what is thrown here for other requests with the text.
        return document.node;
      });
    },
    onValidate({ context, params: { documentAST }, setValidationFn }) {
      const run = runOf(context);
      run.node = documentAST;
      setValidationFn((given, node, rules: readonly ValidationRule[] = []) => {
        const { document } = admit(run, node).operation;
        try {
          checked(run, node);
        } catch (error) {
          // Caches of plugins keep results for the document, so errors of variables are thrown.
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
      extendContext({ ...members, state: run.state });
    },
    onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
    onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(execute),
  };

  /** Returns a syntax error, which plugins may resolve. Rejects with any other refusal. */
  async function requestedOf(params: OperationParams, state: RequestState): Promise<Run['requested']> {
    try {
      return await steps.find(params, state);
    } catch (error) {
      if (error instanceof GraphQLError) return error;
      throw error;
    }
  }

  /** Runs the operation of a request through the hooks of plugins. Never rejects. */
  async function run(members: SentParams, context: Carried, envelop: Envelop) {
    const { state, request } = context;
    const admission = state.span?.child('admission');
    let isAdmitted = false;
    try {
      const params = steps.check(members, state);
      const requested = await requestedOf(params, state);
      const query = requested instanceof GraphQLError ? (params.query ?? '') : requested.text;
      const operation: Run = { params, request, state, requested };
      runs.set(context, operation);
      // Before hooks of plugins and of Yoga say more of a document that this caller may not execute.
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
      return rejected(error, state);
    } finally {
      if (!isAdmitted) admission?.end({}, 'refused');
    }
  }

  return { hooks, run };
}
