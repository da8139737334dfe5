/** What a request of the table may fill in. */
export interface Filled {
  /** The id of `PUBLISHED`. */
  readonly id: string;
  /** A stream token that was issued with a text while that was allowed. */
  readonly token: string;
}

/** A way in which somebody could try to run a text where only published documents may. */
export interface OtherWay {
  readonly name: string;
  readonly method?: string;
  readonly path?: (filled: Filled) => string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: (filled: Filled) => string | Uint8Array<ArrayBuffer>;
  /** Its status and code; or that the published document has run, and nothing else. */
  readonly outcome: string;
}

export const PUBLISHED = 'query Mine { viewer { id } }';
export const RUNS = 'the published document';
export const REQUIRED = '400 DOCUMENT_REQUIRED';
export const BAD = '400 BAD_REQUEST';
export const UNKNOWN = '404 DOCUMENT_NOT_FOUND';
export const UNKNOWN_HASH = '200 PERSISTED_QUERY_NOT_FOUND';
export const INVALID = '200 GRAPHQL_VALIDATION_FAILED';
/** Where it is read: without introspection, none is. */
export const NOT_VALID = `${INVALID} or ${REQUIRED}`;
/** That of GraphiQL. */
export const PAGE = 'a page';
export const NO_JSON = '415 BAD_REQUEST';
export const METHOD = '405 BAD_REQUEST';
export const NOWHERE = '404 NOT_FOUND';

/** What nobody must get to see, and what must not come to be. */
export const SECRET = 'a title that nobody asks for';
export const PLANTED = 'planted by a text';
export const TEXT = '{ posts { title } }';
export const CREATE = `mutation { createPost(title: "${PLANTED}", body: "b") { id } }`;
export const EVENTS = 'subscription { postCreated { title } }';
const JSON_TYPE = { 'content-type': 'application/json' };
export const SSE = { accept: 'text/event-stream' };

type Body = (filled: Filled) => unknown;
type Rest = Partial<OtherWay>;

export const post = (name: string, outcome: string, body: Body, rest: Rest = {}): OtherWay => ({
  name,
  method: 'POST',
  outcome,
  ...rest,
  headers: { ...JSON_TYPE, ...rest.headers },
  body: (filled) => JSON.stringify(body(filled)),
});
export const raw = (
  name: string,
  outcome: string,
  body: NonNullable<OtherWay['body']>,
  headers = {},
): OtherWay => ({
  name,
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  outcome,
  body,
});
export const text = (name: string, query: string, rest: Rest & { operationName?: string } = {}): OtherWay =>
  post(name, rest.outcome ?? REQUIRED, () => ({ query, operationName: rest.operationName }), rest);
export const get = (
  name: string,
  outcome: string,
  parameters: (filled: Filled) => readonly (readonly [string, string])[],
  headers = {},
): OtherWay => ({
  name,
  outcome,
  headers,
  path: (filled) =>
    `/graphql?${new URLSearchParams(parameters(filled).map(([name, value]) => [name, value]))}`,
});
export const persisted = (sha256Hash: string, more = {}) => ({
  persistedQuery: { version: 1, sha256Hash, ...more },
});
