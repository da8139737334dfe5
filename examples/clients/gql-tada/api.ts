import type { TadaDocumentNode, TadaPersistedDocumentNode } from 'gql.tada';
import { type DocumentNode, print } from 'graphql';
import { mutate } from '../../retry.ts';

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
export function createApi(url: string, headers: Readonly<Record<string, string>>) {
  return {
    async query<Data, Variables>(document: Document<Data, Variables>, variables: Variables): Promise<Data> {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ ...textOrId(document), variables }),
      });
      return dataOf((await response.json()) as Answer);
    },

    /** Repeats the request until it is answered. It takes effect once for each key. */
    async mutate<Data, Variables extends Record<string, unknown>>(
      document: Document<Data, Variables>,
      variables: Variables,
      idempotencyKey: string,
    ): Promise<Data> {
      const { body } = await mutate(url, { ...textOrId(document), variables }, { headers, idempotencyKey });
      return dataOf(body as Answer);
    },
  };
}
