import { describe, expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { statement } from '../../../src/database/statement.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { dataOf } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

describe.each([
  { lookAhead: true, postRead: 'events_postCreated', authorsRead: 'events_postCreated' },
  { lookAhead: false, postRead: 'posts_by_id', authorsRead: 'users_by_id' },
])(
  'a post that changes while its event is read (look-ahead: $lookAhead)',
  ({ lookAhead, postRead, authorsRead }) => {
    const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
    const caller = useAccount(app);

    /** An instance where `meddle` runs once, right before the first statement of an event with that name. */
    function meddling(name: string, meddle: () => Promise<unknown>) {
      const { database } = app;
      const met = { times: 0 };
      const watched: Database = {
        ...database,
        cancellable(cancellation) {
          const inner = database.cancellable(cancellation);
          return {
            async query(sql, values) {
              if (sql.name.startsWith(name)) {
                met.times += 1;
                if (met.times === 1) await meddle();
              }
              return inner.query(sql, values);
            },
          };
        },
      };
      return { met, instance: secondInstance(app, { database: watched, lookAhead }) };
    }

    const remove = (id: string) =>
      app.gql('mutation ($id: ID!) { deletePost(id: $id) }', { key: caller.key, variables: { id } });

    /** A post with a comment by somebody of its own, whose event is held back until the stream is open. */
    async function scene(
      query: string,
      name: string,
      meddle: (ids: { post: string; commenter: string }) => Promise<unknown>,
    ) {
      const commenter = await app.account({ name: 'Commenter' });
      const before = await subscribe(app, { key: caller.key });
      const post = await createPost(app, caller.key, { title: 'in question' });
      dataOf(
        await app.gql('mutation ($id: ID!) { createComment(postId: $id, body: "c") { id } }', {
          key: commenter.key,
          variables: { id: post },
        }),
      );
      const { met, instance } = meddling(name, () => meddle({ post, commenter: commenter.id }));
      const stream = await subscribe(instance, { key: caller.key, query, header: before.startId });
      return { met, stream, post };
    }

    const NESTED = 'subscription { postCreated { title comments { body author { name } post { title } } } }';

    it('is left out where it was deleted, and the ids go on exactly', async () => {
      const { met, stream } = await scene(NESTED, postRead, ({ post }) => remove(post));
      await createPost(app, caller.key, { title: 'next' });
      const event = await stream.receive();
      expect(event).toMatchObject({ title: 'next', errors: undefined });
      expect(met.times).toBeGreaterThan(0);
      await createPost(app, caller.key, { title: 'last' });
      expect((await (await subscribe(app, { key: caller.key, header: event.id })).receive()).title).toBe(
        'last',
      );
    });

    it('comes as it is now where those who commented on it are gone', async () => {
      const { met, stream } = await scene(NESTED, authorsRead, async ({ commenter }) => {
        await app.database.query(
          statement('forget_comments', 'DELETE FROM comments WHERE author_id = $1::uuid'),
          [commenter],
        );
        await app.database.query(statement('forget_keys', 'DELETE FROM api_keys WHERE user_id = $1::uuid'), [
          commenter,
        ]);
        await app.database.query(statement('forget_user', 'DELETE FROM users WHERE id = $1::uuid'), [
          commenter,
        ]);
      });
      const block = await stream.stream.next();
      expect(block).toEqual({ data: { postCreated: { title: 'in question', comments: [] } } });
      expect(met.times).toBeGreaterThan(0);
    });

    it('comes with its errors where nothing has changed', async () => {
      const query = 'subscription { postCreated { title author { email } comments { author { email } } } }';
      const { stream } = await scene(query, 'nothing', async () => undefined);
      const event = await stream.receive();
      expect(event.errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
    });
  },
);
