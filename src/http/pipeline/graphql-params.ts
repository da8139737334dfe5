import type { GraphQLParams } from 'graphql-yoga';
import { ApiError } from '../../graphql/errors.ts';
import { canExecute, credentialsMissing } from '../../request/caller.ts';
import type { HttpRequest, RequestUrl } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { badRequest, isObject, parseJson, readJsonBody } from '../request/json-body.ts';

/** Checks the members that GraphQL over HTTP defines, and ignores all others as it requires. */
function checkParams({
  query,
  variables,
  operationName,
  extensions,
}: Record<string, unknown>): GraphQLParams {
  if (typeof query !== 'string')
    throw badRequest(query == null ? 'The request has no "query".' : '"query" must be a string.');
  if (operationName != null && typeof operationName !== 'string')
    throw badRequest('"operationName" must be a string.');
  if (variables != null && !isObject(variables)) throw badRequest('"variables" must be an object.');
  if (extensions != null && !isObject(extensions)) throw badRequest('"extensions" must be an object.');
  return {
    query,
    ...(typeof operationName === 'string' ? { operationName } : {}),
    ...(variables == null ? {} : { variables }),
    ...(extensions == null ? {} : { extensions }),
  };
}

async function postParams(request: HttpRequest, maxBodyBytes: number): Promise<GraphQLParams> {
  const body = await readJsonBody(request, maxBodyBytes);
  if (Array.isArray(body)) throw badRequest('Batching is not supported: send one operation per request.');
  if (!isObject(body)) throw badRequest('The body must be a JSON object.');
  return checkParams(body);
}

function getParams(search: URLSearchParams): GraphQLParams {
  const json = (name: string) => {
    const text = search.get(name);
    return text === null || text === '' ? undefined : parseJson(text, `"${name}"`);
  };
  return checkParams({
    query: search.get('query') ?? undefined,
    operationName: search.get('operationName') || undefined,
    variables: json('variables'),
    extensions: json('extensions'),
  });
}

/**
 * Without credentials the answer is 401, whatever else is wrong (contract section 3). It tells strangers
 * nothing more.
 */
function refuse(error: unknown, state: RequestState): unknown {
  return error instanceof ApiError && error.code === 'BAD_REQUEST' && !canExecute(state.caller)
    ? credentialsMissing()
    : error;
}

/**
 * Reads the GraphQL parameters from a POST or GET request, or takes those that its credential fixes. Rejects with
 * the refusal (contract section 1).
 */
export async function readGraphqlParams(
  request: HttpRequest,
  { searchParams }: RequestUrl,
  state: RequestState,
  maxBodyBytes: number,
): Promise<GraphQLParams> {
  if (state.fixedOperation !== undefined) return state.fixedOperation;
  try {
    return request.method === 'GET' ? getParams(searchParams) : await postParams(request, maxBodyBytes);
  } catch (error) {
    throw refuse(error, state);
  }
}
