import type { TadaDocumentNode, TadaPersistedDocumentNode } from 'gql.tada';
import { type DocumentNode, print } from 'graphql';
import { retryingFetch } from '../../retry.ts';

/** An entry of `errors`. The codes are a closed set. */
export interface ApiError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: string; readonly argument?: string };
}

/** Thrown if a response has errors. */
export class RequestFailed extends Error {
  readonly errors: readonly ApiError[];

  constructor(errors: readonly ApiError[]) {
    super(errors.map(({ message }) => message).join('\n'));
    this.errors = errors;
  }
}

interface Answer {
  readonly data?: unknown;
  readonly errors?: readonly ApiError[];
}

/** A document, or the id of one: `graphql.persisted`. */
type Document<Data, Variables> =
  | TadaDocumentNode<Data, Variables>
  | TadaPersistedDocumentNode<Data, Variables>;

function textOrId(
  document: DocumentNode & { documentId?: string },
): { query: string } | { documentId: string } {
  const { documentId } = document;
  return documentId === undefined ? { query: print(document) } : { documentId };
}

function dataOf<Data>({ data, errors }: Answer): Data {
  if (errors !== undefined) throw new RequestFailed(errors);
  return data as Data;
}

export type Api = ReturnType<typeof createApi>;

/** Calls the service at `url`. The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. */
export function createApi(url: string, headers: Readonly<Record<string, string>> = {}) {
  async function call<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    send: typeof fetch,
  ): Promise<Data> {
    const response = await send(url, {
      method: 'POST',
      credentials: 'include',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ...textOrId(document), variables }),
    });
    return dataOf((await response.json()) as Answer);
  }

  return {
    query: <Data, Variables>(document: Document<Data, Variables>, variables: Variables): Promise<Data> =>
      call(document, variables, fetch),

    /** Repeats the request until it is answered. It takes effect once for each key. */
    mutate: <Data, Variables>(
      document: Document<Data, Variables>,
      variables: Variables,
      idempotencyKey: string,
    ): Promise<Data> => call(document, variables, retryingFetch({ idempotencyKey })),
  };
}
