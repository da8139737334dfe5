import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createApiKey } from '../../../src/auth/api-keys.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { visitor } from '../../support/credentials/session.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { readMetric } from '../../support/metrics.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';
import {
  issueToken,
  openByToken,
  requestByToken,
  requestToken,
  TITLES,
} from '../../support/streams/stream-token.ts';

const app = useApp({ settings: { CORS_ORIGINS: 'https://app.example' } });
const HOUR_MS = 3_600_000;
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

/** A key with a bucket of three tokens that does not refill. */
async function slowKey(): Promise<string> {
  const { id: userId } = await app.account();
  const limits = { burst: 3, perSecond: 0.001 };
  const key = { userId, name: 'slow', scopes: ['posts:read'], ...limits } as const;
  return (await createApiKey(app.database, key)).key;
}

describe('POST /graphql/stream-token', () => {
  it('answers with a token for an hour, which no cache keeps, and counts it', async () => {
    const { key } = await app.account();
    const before = await readMetric(app, 'content_graph_stream_tokens_issued_total');
    const askedMs = Date.now();
    const response = await requestToken(app, bearer(key));
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    const { token, expiresAt, ...rest } = (await response.json()) as { token: string; expiresAt: string };
    expect(rest).toEqual({});
    expect(token).toMatch(/^cgt_\w{36}$/);
    expect(expiresAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    // The database runs on this machine's clock.
    const leftMs = Date.parse(expiresAt) - askedMs;
    expect(Math.abs(leftMs - HOUR_MS)).toBeLessThan(HOUR_MS / 2);
    expect(await readMetric(app, 'content_graph_stream_tokens_issued_total')).toBe(before + 1);
  });

  it('stores only a hash of the token', async () => {
    const { id, key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const rows = await app.prisma.streamToken.findMany({ where: { userId: id } });
    expect(rows.map(({ hash }) => Buffer.from(hash).toString('hex'))).toEqual([
      createHash('sha256').update(token).digest('hex'),
    ]);
    expect(JSON.stringify(rows)).not.toContain(token.slice(4, 20));
  });

  it('takes a token of the bucket, whatever comes of it', async () => {
    const key = await slowKey();
    const operations = [TITLES, '{ posts { id } }', 'subscription {', TITLES];
    const statuses: number[] = [];
    for (const query of operations) statuses.push((await requestToken(app, bearer(key), { query })).status);
    expect(statuses).toEqual([200, 400, 400, 429]);
  });

  it('is open to the pages of CORS_ORIGINS', async () => {
    const preflight = await app.fetch('/graphql/stream-token', {
      method: 'OPTIONS',
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const { key } = await app.account();
    const response = await requestToken(app, { ...bearer(key), origin: 'https://app.example' });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example');
  });
});

describe('GET /graphql?stream_token=…', () => {
  it('opens the subscription with its variables and operation name, as often as the client comes back', async () => {
    const { key } = await app.account();
    const token = await issueToken(app, bearer(key), {
      query: `subscription Other { postCreated { body } }
        subscription Named($id: Boolean!) { postCreated { title id @include(if: $id) } }`,
      operationName: 'Named',
      variables: { id: true },
    });
    for (const title of ['once', 'twice']) {
      const { stream } = await openByToken(app, token);
      const id = await createPost(app, key, { title });
      expect(await stream.next()).toEqual({ data: { postCreated: { title, id } } });
      await stream.close();
    }
  });

  it('resumes after the last event, by parameter and by header, on any instance', async () => {
    const { key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const { stream, startId } = await openByToken(app, token);
    await stream.close();
    const ids = [await createPost(app, key), await createPost(app, key)];
    const other = secondInstance(app);
    for (const place of [{ search: { lastEventId: startId } }, { headers: { 'last-event-id': startId } }]) {
      const { stream: resumed } = await openByToken(other, token, place);
      for (const id of ids) expect((await resumed.next()).data.postCreated.id).toBe(id);
      await resumed.close();
    }
  });

  it('opens it with a token of an earlier release, whose prefix is that of client secrets', async () => {
    const { id, key } = await app.account();
    const early = `cgs_${(await issueToken(app, bearer(key))).slice(4)}`;
    expect((await requestByToken(app, early)).status).toBe(401);
    const hash = createHash('sha256').update(early).digest();
    await app.prisma.streamToken.updateMany({ where: { userId: id }, data: { hash } });
    const { stream } = await openByToken(app, early);
    await stream.close();
  });

  it('ignores a cookie that the browser adds', async () => {
    const owner = await visitor(app);
    const other = await visitor(app);
    const token = await issueToken(app, bearer(owner.key), {
      query: 'subscription { postCreated { author { email } } }',
    });
    for (const cookie of [other.cookie, `session_id=${'x'.repeat(43)}`]) {
      const { stream } = await openByToken(app, token, { headers: { cookie } });
      await createPost(app, owner.key);
      // One's own e-mail: it is the stream of whoever the token belongs to.
      expect((await stream.next()).data.postCreated.author.email).toBe(owner.email);
      await stream.close();
    }
  });

  it('counts for the client behind the token: its bucket and its streams', async () => {
    const { key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const opened = await Promise.all(Array.from({ length: 10 }, () => openByToken(app, token)));
    const rejected = await requestByToken(app, token);
    expect(rejected.status).toBe(429);
    const byKey = await app.fetch(
      '/graphql',
      graphqlPost(TITLES, { headers: { ...bearer(key), accept: 'text/event-stream' } }),
    );
    expect(byKey.status).toBe(429);
    for (const { stream } of opened) await stream.close();
  });

  it('takes a token of the bucket of the key behind it, within the limits of that key', async () => {
    const key = await slowKey();
    const token = await issueToken(app, bearer(key));
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const response = await requestByToken(app, token);
      expect(response.headers.get('x-ratelimit-limit')).toBe('3');
      statuses.push(response.status);
      if (response.status === 200) await readEventStream(response).close();
      else await response.text();
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('leaves the token in no log line, whatever comes of it', async () => {
    const { key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const { stream } = await openByToken(app, token);
    await stream.close();
    for (const search of [{ query: '{ posts { id } }' }, { lastEventId: 'x' }])
      await (await requestByToken(app, token, { search })).text();
    expect(app.logged.join('')).not.toContain(token.slice(0, 20));
  });

  it('asks for an accepted stream type, as any subscription', async () => {
    const { key } = await app.account();
    const token = await issueToken(app, bearer(key));
    const response = await requestByToken(app, token, { headers: { accept: 'application/json' } });
    expect(response.status).toBe(406);
  });
});
