import type { TadaDocumentNode, TadaPersistedDocumentNode } from 'gql.tada';
import { type DocumentNode, print } from 'graphql';
import { retryingFetch, type TaskKey } from '../../retry.ts';

/** An entry of `errors`. The codes are a closed set. A proxy may send an error without one. */
export interface ApiError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions?: { readonly code: string; readonly argument?: string };
}

/** Thrown if a response has errors, or comes from something between client and service. */
export class RequestFailed extends Error {
  readonly errors: readonly ApiError[];

  constructor(status: number, errors: readonly ApiError[]) {
    const messages = errors.map(({ message }) => message).join('\n');
    super(messages || `The response with status ${status} is not one of the service.`);
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

export interface Done<Data> {
  readonly data: Data;
  /** Whether an earlier attempt had run the mutation: `data` is what it was answered then. */
  readonly replayed: boolean;
}

export type Api = ReturnType<typeof createApi>;

/** Calls the service at `url`. The headers authenticate: `{ authorization: 'Bearer …' }`, or none beside a cookie. */
export function createApi(url: string, headers: Readonly<Record<string, string>> = {}) {
  async function call<Data, Variables>(
    document: Document<Data, Variables>,
    variables: Variables,
    send: typeof fetch,
  ): Promise<Done<Data>> {
    const response = await send(url, {
      method: 'POST',
      credentials: 'include',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ ...textOrId(document), variables }),
    });
    const { data, errors } = (await response.json()) as Answer;
    if (errors !== undefined || data == null) throw new RequestFailed(response.status, errors ?? []);
    return { data: data as Data, replayed: response.headers.get('idempotency-replayed') === 'true' };
  }

  return {
    query: async <Data, Variables>(
      document: Document<Data, Variables>,
      variables: Variables,
    ): Promise<Data> => (await call(document, variables, fetch)).data,

    /** Repeats the request until it is answered. It takes effect once for each key; a `TaskKey` keeps that of a form. */
    mutate: <Data, Variables>(
      document: Document<Data, Variables>,
      variables: Variables,
      idempotencyKey: string | TaskKey,
    ): Promise<Done<Data>> => call(document, variables, retryingFetch({ idempotencyKey })),
  };
}
