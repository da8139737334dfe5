import type { FixedOperation } from '../../auth/authenticate.ts';
import { credentialsMissing, isAuthenticated, type Principal } from '../../auth/principal.ts';
import type { IssuedToken } from '../../auth/stream-tokens.ts';
import { publicError } from '../../engine/core/mask-error.ts';
import type { OperationParams } from '../../engine/documents/prepared-operation.ts';
import { errorsOf, type SingleResult, statusOf } from '../../engine/operation/outcome.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import { badRequest } from '../body.ts';
import type { RouteHandler } from '../exchange.ts';
import type { Pipeline } from '../graphql.ts';
import type { HttpResponse } from '../message.ts';
import { headersOf, jsonResponse } from '../response/responder.ts';

/** Every connection with a token reads the stored JSON of its subscription. */
const MAX_STORED_LENGTH = 16_384;

export interface StreamTokenRouteOptions {
  readonly pipeline: Pipeline;
  readonly issue: (principal: Principal, operation: FixedOperation) => Promise<IssuedToken>;
  readonly metrics: Metrics;
}

/** No stored operation needs extensions. */
const fixed = ({ extensions: _extensions, ...operation }: OperationParams): FixedOperation => operation;

function checkLength(operation: FixedOperation): void {
  const { length } = JSON.stringify(operation);
  if (length > MAX_STORED_LENGTH)
    throw badRequest(
      `The subscription has ${length} characters of JSON, but a stream token can store at most ${MAX_STORED_LENGTH}. Shorten the document or its variables.`,
      413,
    );
}

/** The status is the status of the code, never 200. */
function createErrorResponse(rejection: SingleResult, operation: HttpResponse['operation']): HttpResponse {
  const errors = errorsOf(rejection);
  const errorCodes = errors.map((error) => publicError(error).code);
  const status = statusOf(rejection, 'application/graphql-response+json');
  return jsonResponse({ errors }, { status, headers: headersOf(errors), errorCodes, operation });
}

/**
 * Handles `POST /graphql/stream-token` (contract: stream tokens). A token opens one subscription. The token is for
 * URLs that must not contain a long-lived secret, such as the URL of an EventSource.
 */
export function createStreamTokenHandler(options: StreamTokenRouteOptions): RouteHandler {
  const { pipeline, issue, metrics } = options;
  const issued = metrics.counter('content_graph_stream_tokens_issued_total', 'Stream tokens issued.');

  return async (request, admitted, url) => {
    const { caller } = admitted;
    if (!isAuthenticated(caller)) throw credentialsMissing();
    // Apollo's protocol has no tokens, so an unknown id is 404 here, even if `persistedQuery` names it.
    const { persistedQuery: _, ...params } = await pipeline.read(request, url, admitted);
    const { rejection, operation: report } = await pipeline.checkSubscription(params, request, admitted);
    if (rejection !== undefined) return createErrorResponse(rejection, report);
    const operation = fixed(params);
    checkLength(operation);
    const token = await issue(caller, operation);
    issued.inc({});
    return jsonResponse(token, { operation: report });
  };
}
