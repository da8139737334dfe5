import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { newId } from '../../../src/platform/ids.ts';
import { type Account, useAccount, useApp } from '../../support/app.ts';
import { eventsReadable } from '../../support/database/events.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import {
  CHANGES,
  type ChangeFilter,
  FORMATS,
  keepChanges,
  letsThrough,
  subscribeToChanges,
  told,
  toldIn,
  Writer,
} from '../../support/streams/changes.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import { ACCEPT_MULTIPART, openMultipart } from '../../support/streams/multipart-stream.ts';
import { issueToken, requestByToken } from '../../support/streams/stream-token.ts';
import { requestStream } from '../../support/streams/subscriber.ts';

const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
const ada = useAccount(app, { name: 'Ada' });
const linus = useAccount(app, { name: 'Linus' });

describe('A subscription to changes', () => {
  const readRejection = async (response: Response, multipart: boolean) => {
    if (
      !response.headers.get('content-type')?.startsWith(multipart ? 'multipart/mixed' : 'text/event-stream')
    )
      return (await response.json()) as object;
    return multipart ? openMultipart(response).payload() : readEventStream(response).next();
  };

  it.each(FORMATS)(
    'over %s is rejected for an empty list of kinds, and for a kind that there is none of',
    async (format) => {
      const accept = format === 'sse' ? 'text/event-stream' : ACCEPT_MULTIPART;
      for (const kinds of [[], ['POST_READ'], [null]]) {
        const response = await requestStream(app, {
          key: ada.key,
          accept,
          query: CHANGES,
          variables: { kinds },
        });
        expect(await readRejection(response, format === 'multipart')).toMatchObject({
          errors: [
            { extensions: { code: 'BAD_USER_INPUT', ...(kinds.length === 0 ? { argument: 'kinds' } : {}) } },
          ],
        });
      }
    },
  );

  it('needs the scope posts:read, and credentials', async () => {
    const { key } = await createApiKey(app.database, { userId: ada.id, name: 'k', scopes: ['users:read'] });
    const rejected = await requestStream(app, { key, query: CHANGES });
    expect(await readRejection(rejected, false)).toMatchObject({
      errors: [{ extensions: { code: 'FORBIDDEN' } }],
    });
    const reader = await createApiKey(app.database, { userId: ada.id, name: 'k', scopes: ['posts:read'] });
    const writer = new Writer(app);
    const stream = await subscribeToChanges(app, { key: reader.key });
    await writer.createPost(linus);
    expect(toldIn(await stream.count(1))).toEqual(told(writer.changes));
    const unknown = await requestStream(app, { key: 'none', query: CHANGES });
    expect(await readRejection(unknown, false)).toMatchObject({
      errors: [{ extensions: { code: 'UNAUTHENTICATED' } }],
    });
  });

  it('is rejected for an id that is none, and goes on from the end', async () => {
    const response = await requestStream(app, { key: ada.key, query: CHANGES, header: 'nonsense' });
    expect(await readEventStream(response).next()).toMatchObject({
      errors: [{ extensions: { code: 'BAD_USER_INPUT', argument: 'lastEventId' } }],
    });
  });

  it('is opened by a stream token with its filter, and resumed by it', async () => {
    const writer = new Writer(app);
    const [mine, theirs] = [await writer.createPost(ada), await writer.createPost(linus)];
    await eventsReadable(app);
    const token = await issueToken(
      app,
      { authorization: `Bearer ${ada.key}` },
      { query: CHANGES, variables: { post: mine, kinds: ['COMMENT_CREATED'] } },
    );
    const stream = await keepChanges(await requestByToken(app, token));
    for (const post of [theirs, mine, theirs, mine]) await writer.createComment(linus, post);
    await writer.updatePost(ada, mine, 'changed');
    const expected = writer.changes.filter(letsThrough({ post: mine, kinds: ['COMMENT_CREATED'] }));
    expect(toldIn(await stream.count(2))).toEqual(told(expected));
    await stream.close();
    const search = { lastEventId: stream.got[0]?.id ?? '' };
    const resumed = await keepChanges(await requestByToken(app, token, { search }));
    expect(toldIn(await resumed.count(1))).toEqual(told(expected.slice(1)));
  });

  it('shares its group with those of other accounts that have the same filter, however it is written', async () => {
    const instance = secondInstance(app);
    const writer = new Writer(app);
    const [post, other] = [await writer.createPost(ada), await writer.createPost(ada)];
    await eventsReadable(app);
    const groups = () => readMetric(instance, 'content_graph_distinct_subscriptions');
    const open = (account: Account, filter: ChangeFilter, format = FORMATS[0]) =>
      subscribeToChanges(instance, { key: account.key, filter, ...(format && { format }) });
    const same = [
      await open(ada, { post }),
      await open(linus, { post }),
      await open(linus, { post: post.toUpperCase(), kinds: null }, 'multipart'),
    ];
    expect(await groups()).toBe(1);
    const kinds = [
      await open(ada, { post, kinds: ['POST_UPDATED', 'COMMENT_CREATED'] }),
      await open(linus, { post, kinds: ['COMMENT_CREATED', 'POST_UPDATED', 'COMMENT_CREATED'] }),
    ];
    expect(await groups()).toBe(2);
    for (const filter of [{ post: other }, { author: post }, {}, { post: 'x' }, { kinds: ['POST_UPDATED'] }])
      await open(ada, filter);
    expect(await groups()).toBe(7);
    // Whatever it is that names nothing.
    await open(linus, { author: 'y' });
    expect(await groups()).toBe(7);
    writer.changes.length = 0;
    await writer.updatePost(ada, post, 'changed');
    await writer.createComment(linus, post);
    for (const stream of [...same, ...kinds])
      expect(toldIn(await stream.count(2))).toEqual(told(writer.changes));
    const ids = [...same, ...kinds].map(({ got }) => JSON.stringify(got));
    expect(new Set(ids).size).toBe(1);
  });

  it('takes an id of no post as it takes any other string', async () => {
    const stream = await subscribeToChanges(app, { key: ada.key, filter: { post: newId() } });
    expect(stream.startId).not.toBe('');
  });
});
