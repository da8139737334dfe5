import { type ExecutionResult, GraphQLError } from 'graphql';
import { isPublicCode } from '../../engine/core/mask-error.ts';
import type { OperationRequest } from '../../engine/documents/operation-request.ts';
import type { OperationProgress } from '../../engine/operation/operation-result.ts';
import {
  type CostCeilings,
  errorsOf,
  executed,
  type Outcome,
  rejected,
  type SingleResult,
  serializeResponse,
} from '../../engine/operation/outcome.ts';
import { ApiError, type ErrorCode } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import type { HttpResponse } from '../message.ts';
import type { Responder } from '../response/responder.ts';
import { EventSource, HostedStream } from './hosted-events.ts';

type YogaResult = ExecutionResult | AsyncIterable<ExecutionResult>;

export interface HostedOperation {
  readonly sender: OperationRequest;
  readonly progress: OperationProgress;
}

/** Yoga's type allows several results, which no request to this service can ask for. */
type Processed = YogaResult | readonly ExecutionResult[];

const CODES: Readonly<Record<number, ErrorCode>> = {
  200: 'BAD_USER_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  429: 'RATE_LIMITED',
  503: 'SERVICE_UNAVAILABLE',
  504: 'TIMEOUT',
};

/** Plugins set status and headers by `extensions.http`, as Yoga defines them. */
interface HttpExtension {
  /** True for errors of Yoga's steps, whose status follows from their code. */
  readonly spec?: boolean;
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

interface ErrorEntry {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: Readonly<Record<string, unknown>>;
}

/** Errors may come from another copy of graphql-js or be plain objects, so `instanceof` is not enough. */
const isEntry = (error: unknown): error is ErrorEntry =>
  typeof error === 'object' &&
  error !== null &&
  !(error instanceof GraphQLError) &&
  (!(error instanceof Error) || error.name === 'GraphQLError') &&
  'message' in error &&
  typeof error.message === 'string';

const asGraphQLError = ({ message, path, extensions }: ErrorEntry): GraphQLError =>
  new GraphQLError(message, { path: path ?? null, extensions: { ...extensions } });

/** Gives a plugin's error a code of the closed set, and the status and headers of its `extensions.http`. */
export function publicOf(error: unknown): unknown {
  if (isEntry(error)) return publicOf(asGraphQLError(error));
  if (!(error instanceof GraphQLError)) return error;
  if (isEntry(error.originalError)) return publicOf(asGraphQLError(error.originalError));
  const http = error.extensions.http as HttpExtension | undefined;
  if (http === undefined || error.originalError !== undefined) return error;
  const { status, headers = {}, spec } = http;
  if (spec === true || status === undefined) {
    delete error.extensions.http;
    return error;
  }
  const { code: given } = error.extensions;
  const byStatus = CODES[status] ?? (status >= 500 ? 'INTERNAL_SERVER_ERROR' : 'BAD_REQUEST');
  const code = isPublicCode(given) ? given : byStatus;
  const originalError = new ApiError(code, error.message, { status, headers });
  return new GraphQLError(error.message, { path: error.path ?? null, originalError });
}

interface Lazy {
  readonly result: ExecutionResult;
  readonly isUnchanged: () => boolean;
}

/** The body is parsed when a plugin first reads a member. */
function lazily(body: string): Lazy {
  const names: (keyof ExecutionResult)[] = body.startsWith('{"data":') ? ['data'] : ['errors', 'data'];
  if (body.includes('"extensions":')) names.push('extensions');
  const result: ExecutionResult = {};
  let isRead = false;
  const read = () => {
    isRead = true;
    const parsed: ExecutionResult = JSON.parse(body);
    for (const name of names)
      Object.defineProperty(result, name, { value: parsed[name], writable: true, enumerable: true });
  };
  for (const name of names)
    Object.defineProperty(result, name, {
      configurable: true,
      enumerable: true,
      get() {
        read();
        return result[name];
      },
      set(value: unknown) {
        read();
        Object.assign(result, { [name]: value });
      },
    });
  const isUnchanged = () => {
    if (!isRead && Object.keys(result).length === names.length) return true;
    const text = JSON.stringify(result);
    // Earlier releases stored other forms of the same JSON, and replays must be equal to the byte.
    return text === body || text === JSON.stringify(lazily(body).result);
  };
  return { result, isUnchanged };
}

/** Changes inside `data` need no check, because the response is made from the same object. */
const isSame = (one: ExecutionResult, other: ExecutionResult) =>
  one.data === other.data && one.errors === other.errors && one.extensions === other.extensions;

/**
 * A result that plugins leave unchanged becomes the response of the fast path. The response is then the string that
 * the database wrote, or the frames that subscribers share.
 */
export function createResults(respond: Responder, log: Logger, limits: CostCeilings) {
  const made = new WeakMap<object, { readonly outcome: Outcome; readonly isUnchanged: () => boolean }>();
  const streams = new WeakMap<OperationProgress, EventSource>();

  function asResult(outcome: SingleResult): ExecutionResult {
    if (outcome.kind === 'rendered') {
      const { result, isUnchanged } = lazily(outcome.body);
      made.set(result, { outcome, isUnchanged });
      return result;
    }
    const result = outcome.kind === 'executed' ? { ...outcome.result } : { errors: outcome.errors };
    const before = { ...result };
    made.set(result, { outcome, isUnchanged: () => isSame(result, before) });
    return result;
  }

  /** A plugin has made or changed the result. The header fields that plugins set are put into `added`. */
  function asOutcome(
    result: ExecutionResult,
    { sender: { requestId } }: HostedOperation,
    added: Map<string, string>,
  ): SingleResult {
    const { http, ...extensions } = { ...result.extensions } as { readonly http?: HttpExtension };
    for (const [name, value] of Object.entries(http?.headers ?? {})) added.set(name.toLowerCase(), value);
    const masking = { requestId, log };
    const errors = result.errors?.flatMap((error) => errorsOf(rejected(publicOf(error), masking)));
    const outcome = executed(
      {
        ...(errors === undefined ? {} : { errors }),
        ...(result.data === undefined ? {} : { data: result.data }),
        ...(Object.keys(extensions).length === 0 ? {} : { extensions }),
      },
      masking,
    );
    if (http?.status === undefined) return outcome;
    const body = serializeResponse(outcome, { limits });
    return { kind: 'rendered', status: http.status, body, errors: errorsOf(outcome) };
  }

  function singleOf(result: ExecutionResult, hosted: HostedOperation, added: Map<string, string>): Outcome {
    const known = made.get(result);
    return known?.isUnchanged() ? known.outcome : asOutcome(result, hosted, added);
  }

  function textOfEvent(event: ExecutionResult, hosted: HostedOperation): string {
    // The header of the stream is already sent.
    const outcome = singleOf(event, hosted, new Map());
    if (outcome.kind === 'stream' || outcome.kind === 'unresumable')
      throw new Error('an event is a single response');
    return serializeResponse(outcome, { limits });
  }

  function outcomeOf(result: Processed, hosted: HostedOperation, added: Map<string, string>): Outcome {
    const isStream = Symbol.asyncIterator in result;
    if (!isStream && !(Symbol.iterator in result)) return singleOf(result, hosted, added);
    const known = made.get(result);
    if (known !== undefined) return known.outcome;
    const source = streams.get(hosted.progress);
    if (isStream && source !== undefined) {
      const textOf = (event: ExecutionResult) => textOfEvent(event, hosted);
      return { kind: 'stream', stream: new HostedStream({ source, results: result, textOf, log }) };
    }
    const { requestId } = hosted.sender;
    return rejected(new Error('a plugin returned several results'), { requestId, log });
  }

  function discard({ progress }: HostedOperation): void {
    streams.get(progress)?.stream.close();
    streams.delete(progress);
  }

  return {
    /** A stream is only a marker until a plugin iterates it. */
    of(outcome: Outcome, { progress }: HostedOperation): YogaResult {
      if (outcome.kind === 'unresumable') {
        const result = { errors: outcome.outcome.errors };
        const { errors } = result;
        made.set(result, { outcome, isUnchanged: () => isSame(result, { errors }) });
        return result;
      }
      if (outcome.kind !== 'stream') return asResult(outcome);
      const source = new EventSource(outcome.stream, (text) =>
        asResult({ kind: 'rendered', status: 200, body: text, errors: [] }),
      );
      streams.set(progress, source);
      made.set(source, { outcome, isUnchanged: () => true });
      return source;
    },
    ofError: (error: unknown, { sender: { requestId } }: HostedOperation): ExecutionResult =>
      asResult(rejected(publicOf(error), { requestId, log })),
    respond(result: Processed, hosted: HostedOperation): HttpResponse {
      const added = new Map<string, string>();
      const outcome = outcomeOf(result, hosted, added);
      if (outcome.kind !== 'stream') discard(hosted);
      const response = respond({ outcome, ...hosted.progress }, hosted.sender);
      for (const [name, value] of added) response.headers.set(name, value);
      return response;
    },
    discard,
  };
}

export type Results = ReturnType<typeof createResults>;
