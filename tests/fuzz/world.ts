import { createApiKey } from '../../src/auth/api-keys.ts';
import { type Role, type Scope, scopesOfRole } from '../../src/auth/scopes.ts';
import { statement } from '../../src/database/statement.ts';
import type { Caller } from '../model/permissions.ts';
import { type RunSql, readSnapshot, type Snapshot } from '../model/tables.ts';
import type { TagPlace } from '../model/tags.ts';
import type { Account, TestApp } from '../support/app.ts';
import { visitor as makeVisitor, PASSWORD } from '../support/credentials/session.ts';
import { catchUp, createIndexer } from '../support/search.ts';
import type { CallerName } from './case.ts';
import type { Known } from './generate/known.ts';
import {
  disable,
  HANDLES,
  HOSTILE_TAGS,
  HOSTILE_TEXTS,
  seedContent,
  seedDrafts,
  seedKeys,
  seedProfiles,
} from './hostile-content.ts';

/** The data that cases are asked about, and who asks. */
export interface World {
  readonly known: Known;
  /** Undefined for `nobody`, who has no credentials, and for `stranger`, whose credentials are bad. */
  readonly callers: Readonly<Record<CallerName, Caller | undefined>>;
  readonly headersOf: (caller: CallerName) => Record<string, string>;
  /** What the tables held when it was last read. */
  readonly snapshot: Snapshot;
  /** The cursor of each row that was there at the start, by the row's id. */
  readonly cursors: ReadonlyMap<string, string>;
  /** What each of these cursors stands for, also when the row is gone. */
  readonly places: ReadonlyMap<string, { readonly id: string; readonly createdAt: number }>;
  readonly tagPlaces: ReadonlyMap<string, TagPlace>;
  /** The password of both sessions. */
  readonly password: string;
  /** Reads the snapshot anew. */
  refresh(): Promise<void>;
  /** Has the search index follow what was written, if a document reads it: the model knows no time in between. */
  index(document: string): Promise<void>;
}

interface Edges {
  readonly edges: readonly { readonly cursor: string; readonly node: { readonly id: string } }[];
}

/** Contract section 5. */
const MAX_KEYS = 100;

const PAGE = '(first: 100) { edges { cursor node { id } } }';

/** Asks the service for the cursor of each row: what is in one is the service's secret. */
async function readCursors(app: TestApp, key: string, postIds: readonly string[]) {
  const lists: Edges[] = [];
  const { data } = await app.gql(`{ users: usersConnection${PAGE} posts: postsConnection${PAGE} }`, { key });
  lists.push(data.users, data.posts);
  for (const id of postIds) {
    const response = await app.gql(`query ($id: ID!) { post(id: $id) { list: commentsConnection${PAGE} } }`, {
      key,
      variables: { id },
    });
    lists.push(response.data.post.list);
  }
  return new Map(lists.flatMap(({ edges }) => edges.map(({ cursor, node }) => [node.id, cursor] as const)));
}

/** The same for the tags that are there at the start, in both orders. */
async function readTagPlaces(app: TestApp, key: string): Promise<Map<string, TagPlace>> {
  const places = new Map<string, TagPlace>();
  for (const orderBy of ['NAME', 'POST_COUNT'] as const) {
    const list = `tags(first: 100, orderBy: ${orderBy}) { edges { cursor node { name postCount } } }`;
    const { data } = await app.gql(`{ ${list} }`, { key });
    for (const { cursor, node } of data.tags.edges) places.set(cursor, { orderBy, ...node });
  }
  return places;
}

/** Few posts fill a bucket, so that a search walks through many, and a page never ends before all of them. */
const BUCKET_POSTS = 16;
const READS_INDEX = /\b(?:searchPosts|tags)\b/;

async function addKey(app: TestApp, { id }: Account, scopes: readonly Scope[]): Promise<string> {
  return (await createApiKey(app.database, { userId: id, name: 'another "key"', scopes })).key;
}

function callerOf(
  { id }: Pick<Account, 'id'>,
  role: Role,
  scopes: readonly string[],
  sessionId?: string,
): Caller {
  return { userId: id, role, scopes: new Set(scopes), sessionId };
}

/** Makes the accounts and the content, and reads them. The service must be the only one that writes meanwhile. */
export async function createWorld(app: TestApp): Promise<World> {
  const member = await app.account({ name: 'Ada' });
  const other = await app.account({ name: HOSTILE_TEXTS[1] ?? '' });
  const admin = await app.account({ name: HOSTILE_TEXTS[4] ?? '', role: 'admin' });
  const readerScopes = ['posts:read', 'users:read'] as const;
  const reader = await app.account({ name: HOSTILE_TEXTS[5] ?? '', scopes: readerScopes });
  const visitor = await makeVisitor(app, { name: 'n'.repeat(100) });
  const ended = await app.account({ name: 'line\nbreak' });
  const full = await makeVisitor(app, { name: 'null' });
  // It has a key for a start, and one less than it may have then.
  const keyIds = await seedKeys(app, full, MAX_KEYS - 2);
  await seedProfiles(app, [member, other, ended]);
  const content = await seedContent(app, [member, other, admin, visitor, ended]);
  const draftIds = await seedDrafts(app, [member, admin, visitor]);
  await disable(app, ended);
  const readOnly = await addKey(app, member, ['posts:read']);
  const writeOnly = await addKey(app, member, ['posts:write', 'comments:write']);

  const run: RunSql = async (text, values) => app.database.query(statement('fuzz', text), values);
  let snapshot = await readSnapshot(run);
  const sessionOf = ({ id }: Pick<Account, 'id'>) =>
    snapshot.sessions.find(({ userId }) => userId === id)?.id;
  const cursors = await readCursors(app, admin.key, content.postIds);
  const rows = [...snapshot.users, ...snapshot.posts, ...snapshot.comments];
  const places = new Map(rows.map(({ id, createdAt }) => [cursors.get(id) ?? '', { id, createdAt }]));

  const indexer = createIndexer(app, { bucketPosts: BUCKET_POSTS });
  await catchUp(app, indexer);
  let isIndexed = true;
  const tagPlaces = await readTagPlaces(app, admin.key);

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const headers: Record<CallerName, Record<string, string>> = {
    reader: bearer(reader.key),
    member: bearer(member.key),
    'other-member': bearer(other.key),
    admin: bearer(admin.key),
    'read-only-key': bearer(readOnly),
    'write-only-key': bearer(writeOnly),
    session: { cookie: visitor.cookie },
    'full-session': { cookie: full.cookie },
    nobody: {},
    stranger: bearer('not a key'),
  };
  return {
    known: {
      userIds: [member, other, admin, reader, visitor, ended, full].map(({ id }) => id),
      keyIds,
      postIds: content.postIds,
      commentIds: content.commentIds,
      draftIds,
      cursors: [...cursors.values()],
      tagCursors: [...tagPlaces.keys()],
      texts: HOSTILE_TEXTS,
      tags: [...HOSTILE_TAGS, 'none'],
      slugs: [...snapshot.posts.map(({ slug }) => slug), 'a', 'b', 'b-2', 'none'],
      handles: HANDLES,
      instants: content.instants,
      password: PASSWORD,
    },
    callers: {
      reader: callerOf(reader, 'member', readerScopes),
      member: callerOf(member, 'member', scopesOfRole('member')),
      'other-member': callerOf(other, 'member', scopesOfRole('member')),
      admin: callerOf(admin, 'admin', scopesOfRole('admin')),
      'read-only-key': callerOf(member, 'member', ['posts:read']),
      'write-only-key': callerOf(member, 'member', ['posts:write', 'comments:write']),
      session: callerOf(visitor, 'member', scopesOfRole('member'), sessionOf(visitor)),
      'full-session': callerOf(full, 'member', scopesOfRole('member'), sessionOf(full)),
      nobody: undefined,
      stranger: undefined,
    },
    headersOf: (caller) => headers[caller],
    get snapshot() {
      return snapshot;
    },
    cursors,
    places,
    tagPlaces,
    password: PASSWORD,
    async refresh() {
      snapshot = await readSnapshot(run);
      isIndexed = false;
    },
    async index(document) {
      if (isIndexed || !READS_INDEX.test(document)) return;
      await catchUp(app, indexer);
      isIndexed = true;
    },
  };
}
