import type { GraphQLParams } from 'graphql-yoga';
import { ApiError } from '../../graphql/errors.ts';
import { canExecute, credentialsMissing } from '../../request/caller.ts';
import type { HttpRequest, RequestUrl } from '../../request/http-message.ts';
import type { RequestState } from '../../request/request-state.ts';
import { badRequest, isObject, parseJson, readJsonBody } from '../request/json-body.ts';

/** Checks the members that GraphQL over HTTP defines, and ignores all others as it requires. */
function checkMembers({
  query,
  variables,
  operationName,
  extensions,
}: { readonly [Name in keyof GraphQLParams]: unknown }): GraphQLParams {
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

/** What the client sent: nobody has looked at the members yet. */
const isMembers = (value: unknown): value is GraphQLParams => isObject(value);

async function postMembers(request: HttpRequest, maxBodyBytes: number): Promise<GraphQLParams> {
  const body = await readJsonBody(request, maxBodyBytes);
  if (Array.isArray(body)) throw badRequest('Batching is not supported: send one operation per request.');
  if (!isMembers(body)) throw badRequest('The body must be a JSON object.');
  return body;
}

function getMembers(search: URLSearchParams): GraphQLParams {
  const json = (name: string) => {
    const text = search.get(name);
    return text === null || text === '' ? undefined : parseJson(text, `"${name}"`);
  };
  const members: unknown = {
    query: search.get('query') ?? undefined,
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
function refusalOf(error: unknown, { caller }: RequestState): unknown {
  return error instanceof ApiError && error.code === 'BAD_REQUEST' && !canExecute(caller)
    ? credentialsMissing()
    : error;
}

/** The GraphQL parameters of requests. All refuse as contract section 1 says. */
export function graphqlParams(maxBodyBytes: number) {
  const membersOf = (request: HttpRequest, { searchParams }: RequestUrl) =>
    request.method === 'GET' ? getMembers(searchParams) : postMembers(request, maxBodyBytes);

  /** Reads the members of a request as they are. */
  async function parse(request: HttpRequest, url: RequestUrl, state: RequestState): Promise<GraphQLParams> {
    if (state.fixedOperation !== undefined) return state.fixedOperation;
    try {
      return await membersOf(request, url);
    } catch (error) {
      throw refusalOf(error, state);
    }
  }

  /** Checks members, from whomever they are. What the credential fixes stays. Throws the refusal. */
  function check(members: GraphQLParams, state: RequestState): GraphQLParams {
    if (state.fixedOperation !== undefined) return state.fixedOperation;
    try {
      return checkMembers(members);
    } catch (error) {
      throw refusalOf(error, state);
    }
  }

  return {
    parse,
    check,
    /** Both. */
    read: async (request: HttpRequest, url: RequestUrl, state: RequestState) =>
      check(await parse(request, url, state), state),
  };
}
