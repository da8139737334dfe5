import { describe, expect, it } from 'vitest';
import { type Account, useAccount, useApp } from '../support/app.ts';
import { createComment, createPost } from '../support/content.ts';
import { postgresOf } from '../support/database/postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { run } from '../support/processes/started.ts';
import { subscribe } from '../support/streams/subscriber.ts';

const CHANGES = 'subscription { changes { kind postId commentId post { id } comment { id } } }';

interface Change {
  readonly kind: string;
  readonly postId: string;
  readonly commentId: string | null;
}

describe('an account that is deleted by an operator', () => {
  const app = useApp();
  const reader = useAccount(app);

  const deleteAccount = async ({ email }: Account, posts: 'keep' | 'delete') => {
    const args = ['user', 'delete', email, '--content', posts];
    const done = await admin(args, await temporaryFolder(), { DATABASE_URL: postgresOf(app).url });
    expect(done.code, done.stderr).toBe(0);
  };

  /** Somebody with two posts, comments on them by both, and two comments on posts of the reader. */
  async function writer() {
    const account = await app.account();
    const own = [await createPost(app, account.key), await createPost(app, account.key)];
    const others = [await createPost(app, reader.key), await createPost(app, reader.key)];
    for (const id of own) for (const { key } of [account, reader]) await createComment(app, key, id);
    const elsewhere: string[] = [];
    for (const id of others) elsewhere.push(await createComment(app, account.key, id));
    return { account, own, others, elsewhere };
  }

  /** What a stream is told from now on, up to a post that is made when `work` is done. */
  async function toldDuring(work: () => Promise<void>): Promise<Change[]> {
    const { stream } = await subscribe(app, { key: reader.key, query: CHANGES });
    await work();
    const last = await createPost(app, reader.key);
    const told: Change[] = [];
    for (;;) {
      const { changes } = (await stream.next()).data as { changes: Change };
      if (changes.postId === last) return told;
      told.push(changes);
    }
  }

  it('with its posts, is told once for each post, and for each comment on the posts of others', async () => {
    const { account, own, others, elsewhere } = await writer();
    const told = await toldDuring(() => deleteAccount(account, 'delete'));
    const gone = { post: null, comment: null };
    expect(told.filter(({ kind }) => kind === 'POST_DELETED').sort(byPost)).toEqual(
      own.map((postId) => ({ kind: 'POST_DELETED', postId, commentId: null, ...gone })).sort(byPost),
    );
    expect(told.filter(({ kind }) => kind === 'COMMENT_DELETED').sort(byPost)).toEqual(
      others
        .map((postId, at) => ({
          kind: 'COMMENT_DELETED',
          postId,
          commentId: elsewhere[at],
          post: { id: postId },
          comment: null,
        }))
        .sort(byPost),
    );
    expect(told).toHaveLength(own.length + others.length);
  });

  it('with a post under which there are too many comments for one transaction, tells of each deleted before the post', async () => {
    const account = await app.account();
    const post = await createPost(app, account.key);
    const { url } = postgresOf(app);
    await run(
      url,
      `INSERT INTO public.comments (id, body, post_id, author_id)
       SELECT gen_random_uuid(), 'b', '${post}', '${reader.id}' FROM generate_series(1, 250)`,
    );
    // Where the deletion is interrupted, the post still exists: what it lacks by then must have been told.
    await run(
      url,
      `CREATE FUNCTION public.refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF OLD.id = '${post}' THEN RAISE EXCEPTION 'interrupted'; END IF; RETURN OLD; END $$;
       CREATE TRIGGER refuse_deletion BEFORE DELETE ON public.posts FOR EACH ROW EXECUTE FUNCTION public.refuse_deletion()`,
    );
    const told = await toldDuring(async () => {
      const args = ['user', 'delete', account.email, '--content', 'delete'];
      expect((await admin(args, await temporaryFolder(), { DATABASE_URL: url })).code).toBe(1);
    });
    const left = await app.prisma.comment.count({ where: { postId: post } });
    expect(left).toBeLessThan(250);
    expect(told.map(({ kind, postId }) => [kind, postId])).toEqual(
      Array.from({ length: 250 - left }, () => ['COMMENT_DELETED', post]),
    );
    await run(url, 'DROP TRIGGER refuse_deletion ON public.posts');
    const rest = await toldDuring(() => deleteAccount(account, 'delete'));
    expect(rest.map(({ kind, postId }) => [kind, postId])).toEqual([['POST_DELETED', post]]);
  });

  it('without its posts, changes nothing that is told', async () => {
    const { account } = await writer();
    expect(await toldDuring(() => deleteAccount(account, 'keep'))).toEqual([]);
  });
});

const byPost = (a: { postId: string }, b: { postId: string }) => (a.postId < b.postId ? -1 : 1);
