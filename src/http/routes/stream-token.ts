import type { FixedOperation } from '../../auth/authenticate.ts';
import { credentialsMissing, isAuthenticated, type Principal } from '../../auth/principal.ts';
import { type IssuedToken, StreamTokenLimitError } from '../../auth/stream-tokens.ts';
import { publicError } from '../../engine/core/mask-error.ts';
import type { OperationParams } from '../../engine/documents/prepared-operation.ts';
import { errorsOf, type SingleResult, statusOf } from '../../engine/operation/outcome.ts';
import { ApiError } from '../../platform/errors.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { badRequest } from '../body.ts';
import type { RouteHandler } from '../exchange.ts';
import type { Pipeline } from '../graphql.ts';
import type { HttpResponse } from '../message.ts';
import { headersOf, jsonResponse } from '../response/responder.ts';

/** How long the clients of an account with too many tokens should wait: one expires at any time. */
const RETRY_SECONDS = 60;
/** What is stored of a subscription, as JSON. Every connection with its token reads that. */
const MAX_STORED_LENGTH = 16_384;

export interface StreamTokenRouteOptions {
  readonly pipeline: Pipeline;
  readonly issue: (principal: Principal, operation: FixedOperation) => Promise<IssuedToken>;
  readonly metrics: Metrics;
}

/** Without the extensions, which no stored operation needs. */
const fixed = ({ extensions: _extensions, ...operation }: OperationParams): FixedOperation => operation;

/** Throws BAD_REQUEST for an operation that is too large to be stored. */
function checkLength(operation: FixedOperation): void {
  const { length } = JSON.stringify(operation);
  if (length > MAX_STORED_LENGTH)
    throw badRequest(
      `The subscription has ${length} characters of JSON, but a stream token can store at most ${MAX_STORED_LENGTH}. Shorten the document or its variables.`,
      413,
    );
}

/** A rejection with the status of its code: never 200. */
function createErrorResponse(rejection: SingleResult, operation: HttpResponse['operation']): HttpResponse {
  const errors = errorsOf(rejection);
  const errorCodes = errors.map((error) => publicError(error).code);
  const status = statusOf(rejection, 'application/graphql-response+json');
  return jsonResponse({ errors }, { status, headers: headersOf(errors), errorCodes, operation });
}

/** Tells clients what to do about too many tokens. */
function sayLimit(error: unknown): never {
  if (!(error instanceof StreamTokenLimitError)) throw error;
  const message = `${error.message} Reuse a token, or wait until one expires.`;
  throw new ApiError('RATE_LIMITED', message, { headers: { 'retry-after': String(RETRY_SECONDS) } });
}

/**
 * `POST /graphql/stream-token` (contract section 3): responds with a token that opens one subscription, for addresses
 * where a secret that lives longer must not stand, such as those of an EventSource.
 */
export function createStreamTokenHandler({
  pipeline,
  issue,
  metrics,
}: StreamTokenRouteOptions): RouteHandler {
  const issued = metrics.counter('content_graph_stream_tokens_issued_total', 'Stream tokens issued.');

  return async (request, admitted, url) => {
    const { caller } = admitted;
    if (!isAuthenticated(caller)) throw credentialsMissing();
    // No client of Apollo's protocol asks for tokens: an unknown id is 404 here, however it is named.
    const { persistedQuery: _, ...params } = await pipeline.read(request, url, admitted);
    const { rejection, operation: report } = await pipeline.checkSubscription(params, request, admitted);
    if (rejection !== undefined) return createErrorResponse(rejection, report);
    const operation = fixed(params);
    checkLength(operation);
    const token = await issue(caller, operation).catch(sayLimit);
    issued.inc({});
    return jsonResponse(token, { operation: report });
  };
}
