import type { GraphQLParams } from 'graphql-yoga';
import { ApiError } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import { canExecute, credentialsMissing } from './authentication.ts';
import { errorResponse } from './error-response.ts';
import { badRequest, isObject, parseJson, readJsonBody } from './json-body.ts';
import type { HttpPlugin, RequestState } from './request-state.ts';

/** Checks the members that GraphQL over HTTP defines; it leaves others unread, as it asks for. */
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

async function postParams(request: Request, maxBodyBytes: number): Promise<GraphQLParams> {
  const body = await readJsonBody(request, maxBodyBytes);
  if (Array.isArray(body)) throw badRequest('Batches are not supported: send one operation a request.');
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

/** Without credentials it is 401 whatever else is wrong (contract section 3): nothing tells a stranger more. */
function refuse(error: unknown, state: RequestState): unknown {
  return error instanceof ApiError && error.code === 'BAD_REQUEST' && !canExecute(state.caller)
    ? credentialsMissing()
    : error;
}

export interface GraphqlParamsOptions {
  readonly path: string;
  readonly maxBodyBytes: number;
  readonly log: Logger;
}

/** Reads the GraphQL request out of the HTTP one, over POST and GET, and refuses what is none. */
export function useGraphqlParams({ path, maxBodyBytes, log }: GraphqlParamsOptions): HttpPlugin {
  return {
    onRequest({ request, url, serverContext, endResponse }) {
      const { state } = serverContext;
      const { pathname } = url;
      if (state.refusal !== undefined) return endResponse(errorResponse(state.refusal, state, log));
      if (pathname !== path)
        return endResponse(
          errorResponse(
            new ApiError('NOT_FOUND', 'There is nothing at this path.', { status: 404 }),
            state,
            log,
          ),
        );
      if (request.method === 'POST' || request.method === 'GET') return undefined;
      const wrongMethod = new ApiError('BAD_REQUEST', 'GraphQL takes GET and POST.', {
        status: 405,
        headers: { allow: 'GET, POST' },
      });
      return endResponse(errorResponse(wrongMethod, state, log));
    },
    onRequestParse({ request, url, serverContext, setRequestParser }) {
      setRequestParser(async () => {
        try {
          return request.method === 'GET'
            ? getParams(url.searchParams)
            : await postParams(request, maxBodyBytes);
        } catch (error) {
          throw refuse(error, serverContext.state);
        }
      });
    },
  };
}
