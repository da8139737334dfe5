import { beforeAll, describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { readResponse } from '../../support/graphql.ts';
import { readMetric } from '../../support/metrics.ts';
import { expectRejected } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { openNamed, requestNamed, STREAM_WAYS } from '../../support/streams/named-stream.ts';
import { issueToken, openByToken, requestByToken, requestToken } from '../../support/streams/stream-token.ts';
import { freshId, NAMINGS, publish, published, retire } from '../../support/trusted-documents.ts';

const app = useApp();
let key = '';
let headers = { authorization: '' };
beforeAll(async () => {
  ({ key } = await app.account());
  headers = { authorization: `Bearer ${key}` };
});

const TITLES = `subscription Titles { postCreated { title } }
  subscription Some($tag: Boolean!) { postCreated { id @include(if: $tag) title } }`;

describe.each(NAMINGS)('a subscription that is named by %s', (naming, members) => {
  it.each(STREAM_WAYS)('opens over $name, with its operation and variables', async (way) => {
    const id = await published(app, TITLES);
    const named = { ...members(id), operationName: 'Some', variables: { tag: true } };
    const stream = await openNamed(app, named, way, key);
    const post = await createPost(app, key, { title: way.name });
    expect(await stream.payload()).toMatchObject({ data: { postCreated: { id: post, title: way.name } } });
  });

  it('is in one group of streams with the same document as a text', async () => {
    const id = await published(app, TITLES);
    const instance = secondInstance(app);
    for (const document of [members(id), { query: TITLES }])
      await openNamed(instance, { ...document, operationName: 'Titles' }, STREAM_WAYS[0], key);
    expect(await readMetric(instance, 'content_graph_distinct_subscriptions')).toBe(1);
  });

  it.each(STREAM_WAYS)('is rejected over $name where nobody has published it', async (way) => {
    await published(app, TITLES);
    const response = await readResponse(await requestNamed(app, members(freshId()), way, key));
    expectRejected(
      response,
      naming === 'persistedQuery'
        ? { code: 'PERSISTED_QUERY_NOT_FOUND', message: /^PersistedQueryNotFound$/ }
        : { code: 'DOCUMENT_NOT_FOUND', status: 404 },
    );
  });

  it('has a stream token that opens it, on any instance, as often as the client comes back', async () => {
    const id = await published(app, TITLES);
    const token = await issueToken(app, headers, {
      ...members(id),
      operationName: 'Some',
      variables: { tag: false },
    });
    for (const instance of [app, app, secondInstance(app)]) {
      const { stream } = await openByToken(instance, token);
      await createPost(app, key, { title: 'by a token' });
      expect(await stream.next()).toEqual({ data: { postCreated: { title: 'by a token' } } });
      await stream.close();
    }
  });

  it('has a stream token that opens nothing once it is retired, and again once it is published again', async () => {
    const id = await published(app, TITLES, { release: '1' });
    const token = await issueToken(app, headers, { ...members(id), operationName: 'Titles' });
    await (await openByToken(app, token)).stream.close();
    expect(await retire(app, '--client', 'web', '--release', '1')).toBe(1);
    await expect.poll(async () => (await requestByToken(app, token)).status).toBe(404);
    expect((await readResponse(await requestByToken(app, token))).errors).toEqual([
      { message: expect.stringContaining(id), extensions: { code: 'DOCUMENT_NOT_FOUND' } },
    ]);
    expect((await publish(app, { [id]: TITLES })).json.published).toBe(1);
    await (await openByToken(app, token)).stream.close();
  });

  it('has no stream token without a published subscription', async () => {
    const unknown = await readResponse(await requestToken(app, headers, members(freshId())));
    expectRejected(unknown, { code: 'DOCUMENT_NOT_FOUND', status: 404 });
    const query = await published(app, '{ viewer { id } }');
    const other = await readResponse(await requestToken(app, headers, members(query)));
    expectRejected(other, { code: 'BAD_REQUEST', status: 400 });
    const id = await published(app, TITLES);
    const unnamed = await readResponse(await requestToken(app, headers, members(id)));
    expectRejected(unnamed, { code: 'GRAPHQL_VALIDATION_FAILED', status: 400 });
    const stranger = await readResponse(await requestToken(app, {}, members(id)));
    expectRejected(stranger, { code: 'UNAUTHENTICATED', status: 401 });
  });

  it('is what the list of stream tokens says', async () => {
    const id = await published(app, TITLES);
    await issueToken(app, headers, { ...members(id), operationName: 'Titles' });
    const { json } = await adminCommand(app, ['stream-token', 'list']);
    const [listed] = json.filter(({ documentId }: { documentId?: string }) => documentId === id);
    expect(listed).toMatchObject({ documentId: id, operationName: 'Titles' });
    expect(listed).not.toHaveProperty('query');
  });
});

describe('a stream token', () => {
  it('is rejected with a text and an id', async () => {
    const id = await published(app, TITLES);
    const query = 'subscription { postCreated { id } }';
    const response = await readResponse(await requestToken(app, headers, { documentId: id, query }));
    expectRejected(response, { code: 'BAD_REQUEST', status: 400 });
  });

  it('opens nothing beside an id', async () => {
    const id = await published(app, 'subscription { postCreated { id } }');
    const token = await issueToken(app, headers, { documentId: id });
    const response = await readResponse(await requestByToken(app, token, { search: { documentId: id } }));
    expectRejected(response, { code: 'UNAUTHENTICATED', status: 401 });
  });
});
