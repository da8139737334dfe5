import type { GraphQLParams } from 'graphql-yoga';
import { ApiError } from '../graphql/errors.ts';
import type { Logger } from '../platform/log.ts';
import { canExecute, credentialsMissing } from './authentication.ts';
import { errorResponse } from './error-response.ts';
import type { HttpPlugin, RequestState } from './request-state.ts';

const bad = (message: string, status = 400, headers = {}) =>
  new ApiError('BAD_REQUEST', message, { status, headers });

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw bad(`${what} is not valid JSON.`);
  }
}

/** Checks the members that GraphQL over HTTP defines; it leaves others unread, as it asks for. */
function checkParams({
  query,
  variables,
  operationName,
  extensions,
}: Record<string, unknown>): GraphQLParams {
  if (typeof query !== 'string')
    throw bad(query == null ? 'The request has no "query".' : '"query" must be a string.');
  if (operationName != null && typeof operationName !== 'string')
    throw bad('"operationName" must be a string.');
  if (variables != null && !isObject(variables)) throw bad('"variables" must be an object.');
  if (extensions != null && !isObject(extensions)) throw bad('"extensions" must be an object.');
  return {
    query,
    ...(typeof operationName === 'string' ? { operationName } : {}),
    ...(variables == null ? {} : { variables }),
    ...(extensions == null ? {} : { extensions }),
  };
}

/** The media type is JSON in UTF-8; form and multipart bodies would let another site post without a preflight. */
function checkContentType(header: string | null): void {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='));
  if (type !== 'application/json' || (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))) {
    throw bad('The body must be "application/json" in UTF-8.', 415, { 'accept-post': 'application/json' });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: ArrayBuffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw bad('The body is not valid UTF-8.');
  }
}

async function postParams(request: Request, maxBodyBytes: number): Promise<GraphQLParams> {
  checkContentType(request.headers.get('content-type'));
  if (Number(request.headers.get('content-length') ?? 0) > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
  const body = parseJson(decode(bytes), 'The body');
  if (Array.isArray(body)) throw bad('Batches are not supported: send one operation a request.');
  if (!isObject(body)) throw bad('The body must be a JSON object.');
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

export function bodyTooLarge(maxBodyBytes: number): ApiError {
  return bad(`The body is larger than ${maxBodyBytes} bytes.`, 413);
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
      if (pathname !== path)
        return endResponse(
          errorResponse(
            new ApiError('NOT_FOUND', 'There is nothing at this path.', { status: 404 }),
            state,
            log,
          ),
        );
      if (state.refusal !== undefined) return endResponse(errorResponse(state.refusal, state, log));
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
