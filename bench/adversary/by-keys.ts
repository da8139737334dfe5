/** Operations of the account's keys. */
import { randomUUID } from 'node:crypto';
import { postRequest } from '../harness/connection.ts';
import { ACCOUNT, anyKey, asked, bearer, besideLongMutation, byKeys, type Move, repeat } from './sending.ts';

const POSTS_IN_POSTS = `{ posts(limit: 100) { body author { posts(limit: 45) { title } } } }`;
const EXECUTED = `{ viewer { email } posts(limit: 69) { author { posts(limit: 69) { id } } } }`;
export const CREATE_30 = `mutation { ${repeat(30, (i) => `a${i}: createPost(title: "t", body: "b") { id author { posts(limit: 40) { title } } }`)} }`;
/** Almost as long as a response may be. */
const LARGE = repeat(5, (i) => `c${i}: comments(limit: 100, offset: ${i * 100}) { body }`);
const SCHEMA = '{ __schema { types { name description fields { name description args { name } } } } }';
/** As many as an account has room for. */
const STORED = 7;
const BODY_BYTES = 255_000;

const lockPost = (postId: string) =>
  `mutation { u: updatePost(id: "${postId}", title: "t") { id } ${repeat(29, (i) => `a${i}: createPost(title: "t", body: "b") { author { posts(limit: 40) { title } } }`)} }`;
const changePost = (postId: string) => `mutation { updatePost(id: "${postId}", title: "t") { id } }`;
const respondLargely = (largePostId: string) =>
  `mutation { createComment(postId: "${largePostId}", body: "b") { post { ${LARGE} } } }`;

/** Stores what there is room for, then has the same responses again and again. */
const replays: Move = async (target) => {
  const { attacker } = target;
  const run = randomUUID();
  const key = (n: number) => `${run}-${n % STORED}`;
  const query = respondLargely(attacker.largePostId);
  for (let n = 0; n < STORED && !target.signal.aborted; n += 1) {
    const fields = { ...bearer(attacker.keys[0]), 'idempotency-key': key(n) };
    await asked(target, postRequest('/graphql', { query }, fields));
  }
  await byKeys(() => ({ query }), { key })(target);
};

/** Each second another key, and its duplicates while the first waits for its post. */
const duplicates: Move = (target) => {
  const run = randomUUID();
  return besideLongMutation(
    ({ postId }) => lockPost(postId),
    byKeys(({ postId }) => ({ query: changePost(postId), variables: { z: 'z'.repeat(BODY_BYTES) } }), {
      key: (n) => `${run}-${Math.floor(n / ACCOUNT)}`,
    }),
  )(target);
};

export const BY_KEYS: Readonly<Record<string, Move>> = {
  'JSON of 19,000 values under a key': byKeys(
    () => ({
      query: 'mutation { deleteComment(id: "x") }',
      variables: { z: Array.from({ length: 19_000 }, () => []) },
    }),
    { key: anyKey },
  ),
  'ids in a list': byKeys(() => ({
    query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { id } }',
    variables: { ids: Array.from({ length: 19_000 }, (_, index) => `${index}`) },
  })),
  'dear reads by a statement': byKeys(() => ({ query: POSTS_IN_POSTS })),
  'dear reads by resolvers': byKeys(() => ({ query: EXECUTED }), { headers: { 'x-show-cost': '1' } }),
  'large answers, compressed': byKeys(
    ({ largePostId }) => ({ query: `{ post(id: "${largePostId}") { ${LARGE} } }` }),
    { headers: { 'accept-encoding': 'br' } },
  ),
  'the schema, executed': byKeys((_attacker, n) => ({ query: `${SCHEMA} # ${n}` }), {
    headers: { 'x-show-cost': '1' },
  }),
  'thirty posts in a keyed mutation': byKeys(() => ({ query: CREATE_30 }), { key: anyKey }),
  'large stored answers': byKeys(({ largePostId }) => ({ query: respondLargely(largePostId) }), {
    key: anyKey,
  }),
  'replays of large stored answers': replays,
  'a locked post': besideLongMutation(
    ({ postId }) => lockPost(postId),
    byKeys(({ postId }) => ({ query: changePost(postId) }), { key: anyKey }),
  ),
  'large duplicates of what waits': duplicates,
  'changes of password': besideLongMutation(
    ({ password }) =>
      `mutation { changePassword(currentPassword: "${password}", newPassword: "${password}") z: createPost(title: "", body: "") { id } }`,
    byKeys(({ postId }) => ({ query: changePost(postId) })),
  ),
};
