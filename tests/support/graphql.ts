import type { Parsed } from './parsed.ts';

export interface GraphqlError {
  readonly message: string;
  readonly locations?: readonly { readonly line: number; readonly column: number }[];
  readonly path?: readonly (string | number)[];
  readonly extensions: { readonly code: string; readonly argument?: string; readonly [key: string]: unknown };
}

/** An answered GraphQL request. `data` is left untyped for the test to compare whole. */
export interface GraphQLResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly data: Parsed;
  readonly errors: readonly GraphqlError[] | undefined;
  readonly extensions: Record<string, unknown> | undefined;
}

export interface GraphqlOptions {
  readonly key?: string | undefined;
  readonly variables?: unknown;
  readonly operationName?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A GraphQL request as JSON in a POST, for any `fetch`. */
export const graphqlPost = (
  query: string,
  { key, variables, operationName, headers = {} }: GraphqlOptions = {},
) => ({
  method: 'POST',
  headers: {
    'content-type': 'application/json',
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...headers,
  },
  body: JSON.stringify({ query, variables, operationName }),
});

/** The JSON of a response, or of the first event of an event stream that has ended. */
export async function jsonOf(response: Response): Promise<string> {
  const text = await response.text();
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return text;
  return /^event: next\ndata: (.*)$/m.exec(text)?.[1] ?? '';
}

/** Reads the response to a GraphQL request. */
export async function readResponse(response: Response): Promise<GraphQLResponse> {
  const { data, errors, extensions } = JSON.parse(await jsonOf(response)) as GraphQLResponse;
  return { status: response.status, headers: response.headers, data, errors, extensions };
}
