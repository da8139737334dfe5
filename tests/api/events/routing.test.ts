import { beforeAll, describe, expect, it } from 'vitest';
import { statement } from '../../../src/database/statement.ts';
import { type TestApp, useAccount, useApp } from '../../support/app.ts';
import { createComment, createPost, seedPosts } from '../../support/content.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { type ChangeFilter, type ChangeStream, subscribeToChanges } from '../../support/streams/changes.ts';

const STREAMS = 200;
/** More than an instance remembers. */
const MANY = 3_000;

const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
const ada = useAccount(app);
let posts: readonly string[] = [];
beforeAll(async () => {
  posts = await seedPosts(
    app,
    Array.from({ length: STREAMS }, () => ({ authorId: ada.id })),
  );
});

/** What reads events for streams. The end of the log is read for the whole process, now and then. */
const OF_STREAMS = /^events_(changes|after_filtered|after_of_root|after_of_owner)_/;

/** An instance, and the names of the statements that it has sent for its streams. */
function counted(): { readonly instance: Pick<TestApp, 'fetch'>; readonly sent: string[] } {
  const sent: string[] = [];
  const database = watchedDatabase(app.database, ({ name }) => {
    if (OF_STREAMS.test(name)) sent.push(name);
  });
  return { instance: secondInstance(app, { database }), sent };
}

const open = (instance: Pick<TestApp, 'fetch'>, filter: ChangeFilter, header?: string) =>
  subscribeToChanges(instance, { key: ada.key, filter, header });

/** Comments on a post until the instance has them from memory: it begins to follow the log with its first stream. */
async function untilRemembered(
  streams: readonly ChangeStream[],
  post: string,
  sent: string[],
): Promise<number> {
  for (let comments = 1; ; comments += 1) {
    sent.length = 0;
    await createComment(app, ada.key, post);
    for (const stream of streams) await stream.count(comments);
    if (sent.every((name) => name.startsWith('events_changes_'))) return comments;
  }
}

/** So many events of a post that nobody follows, at once. */
async function logMany(): Promise<void> {
  const events = statement<never>(
    'test_many_events',
    `INSERT INTO public.events (kind, root_id, owner_id)
     SELECT 'POST_UPDATED', $1::uuid, $2::uuid FROM generate_series(1, $3::int)`,
  );
  await app.database.query(events, [posts[STREAMS - 1] ?? '', ada.id, MANY]);
}

describe('An event', () => {
  it('of a post costs as many statements with 200 streams of other posts as with none, and is told to none of them', async () => {
    const { instance, sent } = counted();
    const [first = '', ...others] = posts;
    const alone = await open(instance, { post: first });
    const comments = await untilRemembered([alone], first, sent);
    const forOne = [...sent];
    expect(forOne).toHaveLength(1);
    const streams = await Promise.all(others.map((post) => open(instance, { post })));
    expect(await readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(STREAMS);
    sent.length = 0;
    await createComment(app, ada.key, first);
    await alone.count(comments + 1);
    expect(sent).toEqual(forOne);
    // The next event of each is the first that it gets.
    sent.length = 0;
    const [second, last] = [streams[0], streams.at(-1)];
    const next = [
      await createComment(app, ada.key, others[0] ?? ''),
      await createComment(app, ada.key, others.at(-1) ?? ''),
    ];
    await Promise.all([second?.count(1), last?.count(1)]);
    expect([second, last].map((stream) => stream?.got.map(({ told }) => told.commentId))).toEqual(
      next.map((comment) => [comment]),
    );
    expect(sent).toEqual([...forOne, ...forOne]);
    expect(streams.slice(1, -1).flatMap(({ got }) => got)).toEqual([]);
    expect(alone.got).toHaveLength(comments + 1);
  });

  it('wakes those who follow its post, its author or all, and nobody whose kinds it is none of', async () => {
    const { instance, sent } = counted();
    const linus = await app.account();
    const [post = ''] = posts;
    const woken = await Promise.all(
      [{ post }, { author: ada.id }, {}, { kinds: ['COMMENT_CREATED'] }, { post, author: ada.id }].map(
        (filter) => open(instance, filter),
      ),
    );
    const others = await Promise.all(
      [
        { post: posts[1] ?? '' },
        { author: linus.id },
        { kinds: ['POST_CREATED'] },
        { post, kinds: ['COMMENT_DELETED'] },
        { post, author: linus.id },
        { author: ada.id, kinds: ['POST_UPDATED'] },
        { post: 'no id' },
      ].map((filter) => open(instance, filter)),
    );
    const comments = await untilRemembered(woken, post, sent);
    sent.length = 0;
    await createComment(app, linus.key, post);
    for (const stream of woken) await stream.count(comments + 1);
    expect(sent).toHaveLength(woken.length);
    expect(others.flatMap(({ got }) => got)).toEqual([]);
  });
});

describe('A stream of a quiet post', () => {
  it('reads nothing of the log where it opens after many events elsewhere, and gets what comes', async () => {
    const { instance, sent } = counted();
    const [, , quiet = '', other = ''] = posts;
    const witness = await open(instance, { post: other });
    await logMany();
    await eventsReadable(app);
    const comments = await untilRemembered([witness], other, sent);
    sent.length = 0;
    const stream = await open(instance, { post: quiet });
    await createComment(app, ada.key, other);
    await witness.count(comments + 1);
    // Of the witness alone.
    expect(sent).toHaveLength(1);
    await createComment(app, ada.key, quiet);
    await stream.count(1);
    expect(sent).toHaveLength(2);
  });

  it.each(['post', 'author'] as const)(
    'that is resumed by its %s finds what it has missed in as many statements as there are batches of it',
    async (by) => {
      const someone = await app.account();
      const post = await createPost(app, someone.key);
      await eventsReadable(app);
      const before = await open(app, {});
      const comments = [await createComment(app, ada.key, post, 'before')];
      await logMany();
      comments.push(await createComment(app, ada.key, post, 'after'));
      await eventsReadable(app);
      const rows: number[] = [];
      const sent: string[] = [];
      const database = watchedDatabase(
        app.database,
        ({ name }) => void sent.push(name),
        (found) => void rows.push(found.length),
      );
      const instance = secondInstance(app, { database });
      const filter = by === 'post' ? { post } : { author: someone.id };
      const stream = await open(instance, filter, before.startId);
      await stream.count(2);
      expect(stream.got.map(({ told }) => told.commentId)).toEqual(comments);
      const reads = sent.filter((name) => OF_STREAMS.test(name) && !name.startsWith('events_changes_'));
      const key = by === 'post' ? 'root' : 'owner';
      expect(reads.filter((name) => !name.startsWith(`events_after_of_${key}_`))).toEqual([]);
      expect(reads.length).toBeGreaterThan(0);
      expect(reads.length).toBeLessThanOrEqual(3);
      expect(Math.max(...rows)).toBeLessThanOrEqual(2);
    },
  );
});
