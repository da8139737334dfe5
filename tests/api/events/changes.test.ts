import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { dataOf } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import {
  type ChangeFilter,
  FORMATS,
  letsThrough,
  subscribeToChanges,
  told,
  toldIn,
  Writer,
} from '../../support/streams/changes.ts';
import { subscribe, titlesOf } from '../../support/streams/subscriber.ts';

const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
const ada = useAccount(app, { name: 'Ada' });
const linus = useAccount(app, { name: 'Linus' });

/** Posts that stay, of both accounts, with comments of both. */
interface Content {
  readonly adas: string;
  readonly adasOther: string;
  readonly linuss: string;
}

/** All kinds of changes, of several posts and by several accounts, each in a mutation of its own. */
async function changeAll(writer: Writer): Promise<Content> {
  const adas = await writer.createPost(ada);
  const linuss = await writer.createPost(linus);
  const adasOther = await writer.createPost(ada);
  const gone = await writer.createPost(linus);
  for (const post of [adas, linuss, gone]) {
    const kept = await writer.createComment(linus, post);
    const deleted = await writer.createComment(ada, post);
    await writer.updateComment(linus, kept, 'Changed');
    await writer.deleteComment(ada, deleted);
  }
  await writer.updatePost(ada, adas, 'Changed');
  await writer.updatePost(linus, linuss, 'Changed');
  await writer.deletePost(linus, gone);
  await writer.updatePost(ada, adasOther, 'Changed');
  return { adas, adasOther, linuss };
}

const NOBODY = '00000000-0000-7000-8000-000000000000';

/** What a client may ask for, of posts that are there when it asks. */
const filtersOf = ({ adas, linuss }: Content): readonly (readonly [string, ChangeFilter])[] => [
  ['nothing said', {}],
  ['all is null', { post: null, author: null, kinds: null }],
  ['a post', { post: adas }],
  ['a post in capitals', { post: linuss.toUpperCase() }],
  ['an author', { author: ada.id }],
  ['the other author', { author: linus.id }],
  ['a post and its author', { post: adas, author: ada.id }],
  ['a post and another author', { post: adas, author: linus.id }],
  ['one kind', { kinds: ['POST_UPDATED'] }],
  ['a kind twice', { kinds: ['COMMENT_DELETED', 'COMMENT_DELETED'] }],
  ['several kinds', { kinds: ['POST_DELETED', 'COMMENT_CREATED', 'POST_CREATED'] }],
  ['kinds of a post', { post: linuss, kinds: ['COMMENT_UPDATED', 'POST_UPDATED'] }],
  ['kinds of an author', { author: linus.id, kinds: ['COMMENT_CREATED', 'POST_DELETED'] }],
  ['all three', { post: adas, author: ada.id, kinds: ['COMMENT_CREATED'] }],
  ['no post', { post: NOBODY }],
  ['no id of a post', { post: 'no id' }],
  ['an empty id', { post: '' }],
  ['no author', { author: NOBODY }],
  ['an author that is no id', { author: '1' }],
  ['a post and an author that is no id', { post: adas, author: 'x' }],
];

/** More of the same for posts that are there. */
async function changeAgain(writer: Writer, { adas, linuss }: Content, text: string): Promise<void> {
  const comments: string[] = [];
  for (const post of [adas, linuss]) comments.push(await writer.createComment(ada, post));
  for (const comment of comments) await writer.updateComment(ada, comment, text);
  await writer.updatePost(ada, adas, text);
  await writer.updatePost(linus, linuss, text);
  for (const comment of comments) await writer.deleteComment(ada, comment);
  for (const account of [ada, linus]) await writer.deletePost(account, await writer.createPost(account));
}

describe('Changes', () => {
  it('are told as they happen, each once and in order, to whom its filter lets it through', async () => {
    const content = await changeAll(new Writer(app));
    const writer = new Writer(app);
    const asked = filtersOf(content).flatMap(([name, filter]) =>
      FORMATS.map((format) => ({ name, filter, format })),
    );
    for (const [post, account] of [
      [content.adas, ada],
      [content.linuss, linus],
    ] as const)
      writer.adopt(post, account.id);
    const streams = await Promise.all(
      asked.map(async ({ name, filter, format }, n) => ({
        name: `${name} (${format})`,
        filter,
        stream: await subscribeToChanges(app, { key: (n % 3 === 0 ? ada : linus).key, filter, format }),
      })),
    );
    await changeAgain(writer, content, 'again');
    await changeAgain(writer, content, 'and again');
    for (const { name, filter, stream } of streams) {
      const expected = writer.changes.filter(letsThrough(filter));
      const got = await stream.count(expected.length);
      expect([name, toldIn(got)]).toEqual([name, told(expected)]);
      expect(new Set(got.map(({ id }) => id)).size).toBe(got.length);
    }
  });

  it('are brought by any subscription from the id of any other', async () => {
    const all = await subscribeToChanges(app, { key: ada.key });
    const posts = await subscribe(app, { key: ada.key });
    const writer = new Writer(app);
    const content = await changeAll(writer);
    await changeAgain(writer, content, 'again');
    await all.count(writer.changes.length);
    const ids = [all.startId, ...all.got.map(({ id }) => id)];
    expect(toldIn(all.got)).toEqual(told(writer.changes));
    // An event has the same id wherever it is told.
    const created = all.got.filter((_, n) => writer.changes[n]?.kind === 'POST_CREATED');
    const skipped = new Set(
      writer.changes.filter(({ kind }) => kind === 'POST_DELETED').map(({ postId }) => postId),
    );
    const fromPosts = await Promise.all(
      created.filter(({ told: { postId } }) => !skipped.has(postId)).map(() => posts.receive()),
    );
    for (const { id } of fromPosts) expect(ids).toContain(id);
    const other = secondInstance(app);
    await Promise.all(
      filtersOf(content).map(async ([name, filter], n) => {
        for (const place of [0, 1 + (n % (ids.length - 1)), ids.length - 1]) {
          const format = FORMATS[(n + place) % 2] ?? 'sse';
          const expected = writer.changes.slice(place).filter(letsThrough(filter));
          const options = { key: linus.key, filter, format, header: ids[place] };
          const stream = await subscribeToChanges(place === 0 ? app : other, options);
          const got = await stream.count(expected.length);
          expect([name, place, toldIn(got)]).toEqual([name, place, told(expected)]);
          await stream.close();
        }
      }),
    );
    // `postCreated` goes on after a change that it does not show.
    const later = new Writer(app);
    await later.createPost(ada, 'a later post');
    const resumed = await subscribe(app, { key: ada.key, header: ids.at(-1) });
    expect(titlesOf(await resumed.until('a later post'))).toEqual(['a later post']);
  });

  it.each(FORMATS)('over %s show what they are about as it is when they are delivered', async (format) => {
    const writer = new Writer(app);
    const { startId: header } = await subscribeToChanges(app, { key: ada.key });
    const live = await subscribeToChanges(app, { key: ada.key, format });
    const post = await writer.createPost(ada, 'first');
    const comment = await writer.createComment(linus, post, 'said');
    const [created, commented] = await live.count(2);
    expect(created?.told).toEqual({
      kind: 'POST_CREATED',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      postId: post,
      post: { id: post, title: 'first', version: 1 },
      commentId: null,
      comment: null,
    });
    expect(commented?.told).toMatchObject({
      kind: 'COMMENT_CREATED',
      postId: post,
      commentId: comment,
      post: { title: 'first' },
      comment: { id: comment, body: 'said', version: 1 },
    });
    await writer.updatePost(ada, post, 'second');
    await writer.updateComment(linus, comment, 'corrected');
    const present = await subscribeToChanges(app, { key: ada.key, format, header });
    expect((await present.count(4)).map(({ told: one }) => [one.post?.title, one.comment?.body])).toEqual([
      ['second', undefined],
      ['second', 'corrected'],
      ['second', undefined],
      ['second', 'corrected'],
    ]);
    const other = await writer.createComment(ada, post);
    await writer.deleteComment(linus, comment);
    await writer.deletePost(ada, post);
    // The comments that went with the post have no events of their own.
    const late = await subscribeToChanges(app, { key: ada.key, format, header });
    const got = await late.count(7);
    expect(toldIn(got)).toEqual(told(writer.changes));
    expect(got.map(({ told: one }) => [one.post, one.comment])).toEqual(
      writer.changes.map(() => [null, null]),
    );
    expect(got.map(({ told: one }) => one.commentId)).toContain(other);
  });

  it('have the time of their transactions', async () => {
    const stream = await subscribeToChanges(app, { key: ada.key });
    await changeAll(new Writer(app));
    const got = await stream.count(10);
    const events = await app.prisma.event.findMany({ orderBy: { id: 'desc' }, take: 50 });
    const known = events.map(({ kind, rootId, createdAt }) => `${kind} ${rootId} ${createdAt.toISOString()}`);
    for (const { told: one } of got) expect(known).toContain(`${one.kind} ${one.postId} ${one.at}`);
  });

  it('of one mutation are all told, in the order of its fields', async () => {
    const stream = await subscribeToChanges(app, { key: ada.key });
    const quiet = await subscribeToChanges(app, { key: ada.key, filter: { kinds: ['COMMENT_CREATED'] } });
    const writer = new Writer(app);
    const post = await writer.createPost(ada);
    const query = `mutation {
      a: createPost(title: "new", body: "b") { id }
      b: createComment(postId: "${post}", body: "one") { id }
      c: updatePost(id: "${post}", title: "changed") { id }
      d: updatePost(id: "${post}", title: "changed") { id }
      e: createComment(postId: "${post}", body: "two") { id }
      f: updatePost(id: "${post}", title: "changed again") { id }
      g: deletePost(id: "${NOBODY}") }`;
    const { a, b, e } = dataOf(await app.gql(query, { key: ada.key }));
    await app.gql(`mutation { deletePost(id: "${post}") }`, { key: ada.key });
    const expected = [
      ['POST_CREATED', post, null],
      ['POST_CREATED', a.id, null],
      ['COMMENT_CREATED', post, b.id],
      ['POST_UPDATED', post, null],
      ['COMMENT_CREATED', post, e.id],
      ['POST_UPDATED', post, null],
      ['POST_DELETED', post, null],
    ];
    expect(toldIn(await stream.count(expected.length))).toEqual(expected);
    expect(toldIn(await quiet.count(2))).toEqual([expected[2], expected[4]]);
    const [, , first] = stream.got;
    const resumed = await subscribeToChanges(app, { key: linus.key, header: first?.id });
    expect(toldIn(await resumed.count(4))).toEqual(expected.slice(3));
  });

  it('that were rolled back, rejected or none are told to nobody', async () => {
    const writer = new Writer(app);
    const post = await writer.createPost(ada, 'the same');
    const comment = await writer.createComment(linus, post, 'the same');
    await eventsReadable(app);
    const stream = await subscribeToChanges(app, { key: ada.key });
    const nothing = [
      `a: createPost(title: "undone", body: "b") { id } b: createPost(title: "", body: "b") { id }`,
      `a: deletePost(id: "${post}") b: createComment(postId: "${post}", body: "late") { id }`,
      `updatePost(id: "${post}") { id }`,
      `updatePost(id: "${post}", title: "the same") { id }`,
      `updatePost(id: "${post}", title: "the same", body: "b", tags: []) { id }`,
      `updatePost(id: "${post}", title: "other", ifVersion: 9) { id }`,
      `updateComment(id: "${comment}", body: "other") { id }`,
      `deletePost(id: "${NOBODY}")`,
      `deleteComment(id: "${NOBODY}")`,
      `updateComment(id: "${NOBODY}", body: "x") { id }`,
    ];
    for (const fields of nothing) await app.gql(`mutation { ${fields} }`, { key: ada.key });
    await app.gql(`mutation { updateComment(id: "${comment}", body: "the same") { id } }`, {
      key: linus.key,
    });
    await app.gql(`mutation { deletePost(id: "${post}") }`, { key: linus.key });
    const later = new Writer(app);
    await later.createPost(linus, 'the end');
    expect(toldIn(await stream.count(1))).toEqual(told(later.changes));
  });

  it('leave `postCreated` as it was: it shows the posts that were created and are there', async () => {
    const live = await subscribe(app, { key: ada.key });
    const writer = new Writer(app);
    await changeAll(writer);
    await writer.createPost(ada, 'the end');
    const titles = titlesOf(await live.until('the end'));
    expect(titles.length).toBeGreaterThanOrEqual(4);
    const late = await subscribe(app, { key: ada.key, header: live.startId });
    expect(titlesOf(await late.until('the end'))).toEqual(['Changed', 'Changed', 'Changed', 'the end']);
  });
});
