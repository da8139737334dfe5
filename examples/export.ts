/**
 * Exports all posts with their comments to a file of JSON lines, then follows every change and appends it:
 *
 *     API_KEY=… node examples/export.ts http://127.0.0.1:4000/graphql posts.ndjson
 *
 * The key needs the scopes `posts:read` and `users:read`. A line is `{"post": …}`, `{"comment": …}` or `{"deleted": id}`;
 * of several with one id the last holds, and a deleted post takes its comments with it. Lines of `{"at": …}` say how far
 * the file has come: started again, also after `kill -9`, the export cuts off what stands after the last of them and goes
 * on there. So no line is missing, and none is half. Where the service no longer has the changes, it reads everything
 * again after `{"again": true}`: what stands before that line no longer holds. Needs Node and the package
 * `content-graph-client`.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { argv, env } from 'node:process';
// In a project of yours: from 'content-graph-client'.
import {
  type Connection,
  createClient,
  type ListPage,
  readConnection,
} from '../packages/client/src/index.ts';

const POST = 'id title body tags createdAt updatedAt version author { id name }';
const COMMENT = 'id body createdAt updatedAt version author { id name }';
const COMMENTS = `nodes { ${COMMENT} } pageInfo { hasNextPage endCursor }`;
const POSTS = `query ($after: String) {
  postsConnection(first: 30, after: $after) {
    nodes { ${POST} commentsConnection(first: 10) { ${COMMENTS} } }
    pageInfo { hasNextPage endCursor }
  }
}`;
const MORE_COMMENTS = `query ($id: ID!, $after: String) {
  post(id: $id) { commentsConnection(first: 100, after: $after) { ${COMMENTS} } }
}`;
const CHANGES = `subscription { changes { postId post { ${POST} } commentId comment { ${COMMENT} } } }`;

interface Item {
  readonly id: string;
}

interface Change {
  readonly postId: string;
  readonly post: Item | null;
  readonly commentId: string | null;
  readonly comment: Item | null;
}

/** How far the file has come: through the posts, and then through the changes after an event. */
interface Place {
  readonly after: string | null;
  readonly eventId: string | undefined;
  readonly isRead: boolean;
}

const START: Place = { after: null, eventId: undefined, isRead: false };
const [, , url = '', path = ''] = argv;
const client = createClient({
  url,
  headers: { authorization: `Bearer ${env.API_KEY}` },
  // It asks until the service responds.
  retry: { queryBudgetMs: Number.POSITIVE_INFINITY },
});

/** Appends lines and then the place after them, all of it on the disk before it is gone on. */
async function append(file: FileHandle, lines: readonly object[], place: Place): Promise<void> {
  const text = [...lines, { at: place }].map((line) => `${JSON.stringify(line)}\n`).join('');
  await file.appendFile(text);
  await file.datasync();
}

/** The last place in the file. What stands after it, which may be half a line, is cut off. */
async function resume(file: FileHandle): Promise<Place> {
  const { size } = await file.stat();
  const part = Buffer.alloc(64 * 1024);
  let tail = '';
  for (let end = size; end > 0; ) {
    const length = Math.min(part.length, end);
    end -= length;
    await file.read(part, 0, length, end);
    tail = part.toString('latin1', 0, length) + tail;
    // A line that begins the file, or comes after another, and is whole.
    const found = [...tail.matchAll(/(?<=^|\n)\{"at":(.*)\}\n/g)].at(-1);
    if (found === undefined || (found.index === 0 && end > 0)) continue;
    await file.truncate(end + found.index + found[0].length);
    return JSON.parse(found[1] ?? '');
  }
  await file.truncate(0);
  return START;
}

/** Reads all posts from a place on. Whatever is changed meanwhile comes after the event of the first answer. */
async function readAll(file: FileHandle, from: Place): Promise<Place> {
  let place = from;
  while (!place.isRead) {
    type Posts = { readonly postsConnection: Connection<Item & { commentsConnection: Connection<Item> }> };
    const options = { showEventId: true };
    const { data, eventId } = await client.query<Posts, object>(POSTS, { after: place.after }, options);
    const posts = readConnection(data.postsConnection);
    const lines: object[] = [];
    for (const { commentsConnection, ...post } of posts.items) {
      lines.push({ post });
      let comments: Connection<Item> | undefined = commentsConnection;
      while (comments !== undefined) {
        const page: ListPage<Item> = readConnection(comments);
        for (const comment of page.items) lines.push({ comment: { ...comment, postId: post.id } });
        if (page.more === null) break;
        type Found = { readonly post: { readonly commentsConnection: Connection<Item> } | null };
        const variables = { id: post.id, after: page.more };
        comments = (await client.query<Found, object>(MORE_COMMENTS, variables)).data.post
          ?.commentsConnection;
      }
    }
    const isRead = posts.more === null;
    place = { after: posts.more ?? place.after, eventId: place.eventId ?? eventId, isRead };
    await append(file, lines, place);
  }
  return place;
}

function lineOf({ postId, post, commentId, comment }: Change): object {
  if (commentId === null) return post === null ? { deleted: postId } : { post };
  return comment === null ? { deleted: commentId } : { comment: { ...comment, postId } };
}

/** Appends what is changed, until the service no longer has the changes. */
async function follow(file: FileHandle, place: Place): Promise<void> {
  const options = { after: place.eventId };
  for await (const event of client.subscribe<{ readonly changes: Change }, object>(CHANGES, {}, options)) {
    if (event.type === 'missedEvents') return;
    await append(file, [lineOf(event.data.changes)], { ...place, eventId: event.id });
  }
}

const file = await open(path, 'a+');
for (let place = await resume(file); ; place = START) {
  await follow(file, await readAll(file, place));
  await append(file, [{ again: true }], START);
}
