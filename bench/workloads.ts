import type { Prepared } from './data/service-data.ts';
import { postRequest } from './harness/connection.ts';

export const WORKLOADS = ['W0', 'W1', 'W2', 'W3', 'W4'] as const;
export type Workload = (typeof WORKLOADS)[number];

/** How a server is asked. */
export type Dialect = 'floor' | 'graphql' | 'postgraphile';

const NEWEST_FIRST = 'orderBy: [CREATED_AT_DESC, ROW_ID_DESC]';

const GRAPHQL: Readonly<Record<Workload, string>> = {
  W0: '{ __typename }',
  W1: 'query W1($id: ID!) { user(id: $id) { name posts(limit: 10) { title commentCount } } }',
  W2: '{ posts(limit: 20) { id title author { name } } }',
  W3: '{ posts(limit: 20) { title author { name posts(limit: 5) { title commentCount } } } }',
  W4: 'mutation W4($title: String!, $body: String!) { createPost(title: $title, body: $body) { id title } }',
};

/** The same data by the names that PostGraphile makes from the tables. */
const POSTGRAPHILE: Readonly<Record<Workload, string>> = {
  W0: GRAPHQL.W0,
  W1: `query W1($id: UUID!) { user: userByRowId(rowId: $id) { name posts: postsByAuthorIdList(first: 10, ${NEWEST_FIRST}) { title commentCount } } }`,
  W2: `{ posts: allPostsList(first: 20, ${NEWEST_FIRST}) { id: rowId title author: userByAuthorId { name } } }`,
  W3: `{ posts: allPostsList(first: 20, ${NEWEST_FIRST}) { title author: userByAuthorId { name posts: postsByAuthorIdList(first: 5, ${NEWEST_FIRST}) { title commentCount } } } }`,
  W4: `mutation W4($title: String!, $body: String!, $authorId: UUID!) {
    createPost(input: { post: { title: $title, body: $body, authorId: $authorId } }) { post { id: rowId title } } }`,
};

/** What a load generator writes. */
export const NEW_POST = {
  title: 'A post that the bench has written',
  body: 'About five hundred characters. '.repeat(16),
};

function variables(workload: Workload, id: string, authorId: string, dialect: Dialect): object | undefined {
  if (workload === 'W1') return { id };
  if (workload !== 'W4') return undefined;
  return dialect === 'graphql' ? NEW_POST : { ...NEW_POST, authorId };
}

/** The requests of a workload: one for each of some users where it asks for one, else always the same. */
export function requestsOf(workload: Workload, dialect: Dialect, data: Prepared): Buffer[] {
  const ids = workload === 'W1' ? data.readerIds : [''];
  return ids.map((id) => {
    const given = variables(workload, id, data.authorId, dialect);
    if (dialect === 'floor') return postRequest(`/${workload}`, given ?? {}, {});
    const query = (dialect === 'graphql' ? GRAPHQL : POSTGRAPHILE)[workload];
    const authorization = { authorization: `Bearer ${data.keys[0]}` };
    return postRequest('/graphql', { query, variables: given }, dialect === 'graphql' ? authorization : {});
  });
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

/** The data of an answer in the form that all servers' answers must share. */
export function normalised(workload: Workload, text: string): unknown {
  const { data, errors } = JSON.parse(text) as { data?: Record<string, unknown>; errors?: unknown };
  if (errors !== undefined || data === undefined)
    throw new Error(`${workload} was answered with ${text.slice(0, 500)}`);
  if (workload !== 'W4') return data;
  const made = data.createPost as { post?: unknown };
  const { id, title } = (made.post ?? made) as { id: string; title: string };
  return { createPost: { id: UUID.test(id), title } };
}
