import type { GraphQLParams } from 'graphql-yoga';
import { canExecute, credentialsMissing } from '../auth/principal.ts';
import type { OperationParams } from '../engine/documents/prepared-operation.ts';
import { ApiError } from '../platform/errors.ts';
import { badRequest, isObject, parseJson, readJsonBody } from './body.ts';
import type { AdmittedRequest } from './exchange.ts';
import type { HttpRequest, RequestUrl } from './message.ts';

/** A client may send any value as a member until the members are checked. */
export type SentParams = GraphQLParams & { readonly documentId?: string };
type Unchecked = { readonly [Name in keyof SentParams]: unknown };

/** Apollo and urql send the document id in this extension. */
function persistedId(extensions: unknown): string | undefined {
  const { persistedQuery } = isObject(extensions) ? extensions : {};
  const { sha256Hash } = isObject(persistedQuery) ? persistedQuery : {};
  return typeof sha256Hash === 'string' ? sha256Hash : undefined;
}

/** A document wins over the extension, which is ignored without the feature. */
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
    throw badRequest('The request has both "query" and "documentId". Send one of them.');
  }
  const persisted = persistedId(extensions);
  if (documentId != null && persisted !== undefined && persisted !== documentId)
    throw badRequest(
      'The request has two document ids, in "documentId" and "extensions.persistedQuery". Send one of them.',
    );
  if (documentId != null) return { documentId };
  if (persisted !== undefined) return { documentId: persisted, persistedQuery: true };
  throw badRequest('The request has no "query" and no "documentId". Send one of them.');
}

/** Members that neither GraphQL over HTTP nor the service defines are ignored, as the specification requires. */
function checkMembers(sent: Unchecked): OperationParams {
  const document = documentOf(sent);
  const { variables, operationName, extensions } = sent;
  if (operationName != null && typeof operationName !== 'string')
    throw badRequest('"operationName" must be a string.');
  if (variables != null && !isObject(variables)) throw badRequest('"variables" must be an object.');
  if (extensions != null && !isObject(extensions)) throw badRequest('"extensions" must be an object.');
  return {
    ...document,
    // An empty operation name selects no operation, over GET and POST.
    ...(typeof operationName === 'string' && operationName !== '' ? { operationName } : {}),
    ...(variables == null ? {} : { variables }),
    ...(extensions == null ? {} : { extensions }),
  };
}

const isMembers = (value: unknown): value is SentParams => isObject(value);

async function postMembers(request: HttpRequest, maxBodyBytes: number): Promise<SentParams> {
  const body = await readJsonBody(request, maxBodyBytes);
  if (Array.isArray(body)) throw badRequest('Batching is not supported. Send one operation per request.');
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

/** Without credentials, other errors become 401, which reveals nothing to strangers (contract: credentials). */
function withoutCredentials(error: unknown, { caller }: AdmittedRequest): unknown {
  return error instanceof ApiError && error.code === 'BAD_REQUEST' && !canExecute(caller)
    ? credentialsMissing()
    : error;
}

export function graphqlParams(maxBodyBytes: number) {
  const membersOf = (request: HttpRequest, { searchParams }: RequestUrl) =>
    request.method === 'POST' ? postMembers(request, maxBodyBytes) : getMembers(searchParams);

  async function parse(
    request: HttpRequest,
    url: RequestUrl,
    admitted: AdmittedRequest,
  ): Promise<SentParams> {
    const { fixedOperation } = admitted.credentials;
    if (fixedOperation !== undefined) return fixedOperation;
    try {
      return await membersOf(request, url);
    } catch (error) {
      throw withoutCredentials(error, admitted);
    }
  }

  /**
   * The operation of a stream token overrides members of a client or a plugin.
   * @throws the rejection
   */
  function check(members: SentParams, admitted: AdmittedRequest): OperationParams {
    const { fixedOperation } = admitted.credentials;
    if (fixedOperation !== undefined) return fixedOperation;
    try {
      return checkMembers(members);
    } catch (error) {
      throw withoutCredentials(error, admitted);
    }
  }

  return {
    parse,
    check,
    read: async (request: HttpRequest, url: RequestUrl, admitted: AdmittedRequest) =>
      check(await parse(request, url, admitted), admitted),
  };
}
