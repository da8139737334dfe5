/**
 * Exports all posts with their comments to a file of JSON lines, then follows every change and appends it:
 *
 *     API_KEY=… node examples/export.ts http://127.0.0.1:4000/graphql posts.ndjson
 *
 * The key needs the scopes `posts:read` and `users:read`. A line is `{"post": …}`, `{"comment": …}` or `{"deleted": id}`;
 * of several with one id the last holds, and a deleted post takes its comments with it. Lines of `{"at": …}` say how far
 * the file has come: started again, also after `kill -9`, the export cuts off what stands after the last of them and goes
 * on there. So no line is missing, and none is half. Where the service no longer has the changes, it reads everything
 * again after `{"again": true}`: what stands before that line no longer holds. Needs only Node: copy this file and
 * `resuming-fetch.ts`.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { argv, env } from 'node:process';
import { resumingFetch } from './resuming-fetch.ts';

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

interface Page<Of> {
  readonly nodes: readonly Of[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

interface Answer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { readonly message: string; readonly extensions?: { readonly code?: string } }[];
  readonly extensions?: { readonly eventId?: string };
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
const headers = { 'content-type': 'application/json', authorization: `Bearer ${env.API_KEY}` };

/** Asks until there is an answer. */
async function ask<Data>(
  query: string,
  variables: object,
): Promise<{ data: Data; eventId: string | undefined }> {
  for (let pauseMs = 500; ; pauseMs = Math.min(pauseMs * 2, 15_000)) {
    const init = { method: 'POST', headers: { ...headers, 'x-show-event-id': '1' } };
    const body = JSON.stringify({ query, variables });
    const response = await fetch(url, { ...init, body }).catch(() => undefined);
    const text = await response?.text().catch(() => undefined);
    if (response !== undefined && text !== undefined && response.status !== 429 && response.status < 500) {
      const { data, errors, extensions }: Answer<Data> = JSON.parse(text);
      if (data == null) throw new Error(errors?.[0]?.message ?? `status ${response.status}`);
      return { data, eventId: extensions?.eventId };
    }
    // In seconds. A proxy may send a date, which is not a number (RFC 9110, section 10.2.3).
    const askedMs = (Number(response?.headers.get('retry-after')) || 0) * 1_000;
    await new Promise((resolve) =>
      setTimeout(resolve, Math.max(askedMs, pauseMs * (0.5 + Math.random() / 2))),
    );
  }
}

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
    type Node = Item & { readonly commentsConnection: Page<Item> };
    const { data, eventId } = await ask<{ postsConnection: Page<Node> }>(POSTS, { after: place.after });
    const lines: object[] = [];
    for (const { commentsConnection, ...post } of data.postsConnection.nodes) {
      lines.push({ post });
      let comments: Page<Item> | undefined = commentsConnection;
      while (comments !== undefined) {
        for (const comment of comments.nodes) lines.push({ comment: { ...comment, postId: post.id } });
        if (!comments.pageInfo.hasNextPage) break;
        type Found = { post: { commentsConnection: Page<Item> } | null };
        const after: string | null = comments.pageInfo.endCursor;
        comments = (await ask<Found>(MORE_COMMENTS, { id: post.id, after })).data.post?.commentsConnection;
      }
    }
    const { endCursor: after, hasNextPage } = data.postsConnection.pageInfo;
    place = { after: after ?? place.after, eventId: place.eventId ?? eventId, isRead: !hasNextPage };
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
  // Waits for a service that is not there: `resumingFetch` opens its first stream once.
  await ask('{ __typename }', {});
  const own = { ...headers, accept: 'text/event-stream', 'last-event-id': place.eventId ?? '' };
  const body = JSON.stringify({ query: CHANGES });
  const response = await resumingFetch(url, { method: 'POST', headers: own, body });
  if (!response.ok || response.body === null) throw new Error(`the stream was refused: ${response.status}`);
  // `resumingFetch` passes on whole events.
  for await (const event of response.body.pipeThrough(new TextDecoderStream())) {
    const [, id] = /^id: (.+)$/m.exec(event) ?? [];
    const [, text] = /^data: (.+)$/m.exec(event) ?? [];
    if (text === undefined || id === undefined) continue;
    const { data, errors }: Answer<{ changes: Change }> = JSON.parse(text);
    if (errors?.[0]?.extensions?.code === 'EVENT_HISTORY_EXPIRED') return;
    if (data == null) throw new Error(errors?.[0]?.message ?? 'the stream has failed');
    await append(file, [lineOf(data.changes)], { ...place, eventId: id });
  }
  throw new Error('the service has ended the stream');
}

const file = await open(path, 'a+');
for (let place = await resume(file); ; place = START) {
  await follow(file, await readAll(file, place));
  await append(file, [{ again: true }], START);
}
