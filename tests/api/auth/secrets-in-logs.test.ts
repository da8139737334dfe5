import { describe, expect, it } from 'vitest';
import { API_KEY } from '../../../src/auth/api-keys.ts';
import { statement } from '../../../src/database/statement.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { useSocket } from '../../support/socket.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

describe('secrets', () => {
  const app = useApp();
  const socket = useSocket(app);
  const unknown = API_KEY.generate();
  const caller = useAccount(app);

  const json = { 'content-type': 'application/json' };
  /** Calls of every kind that end in every way, each with a credential in it. */
  const calls: readonly [string, (secret: string) => Promise<unknown>][] = [
    ['a query', (secret) => app.gql('{ viewer { id } }', { key: secret })],
    [
      'a mutation',
      (secret) => app.gql('mutation { createPost(title: "t", body: "b") { id } }', { key: secret }),
    ],
    ['wrong input', (secret) => app.gql('{ posts(limit: -1) { id } }', { key: secret })],
    [
      'the key as a variable',
      (secret) =>
        app.gql('query ($tag: String) { posts(tag: $tag) { id } }', {
          key: secret,
          variables: { tag: secret },
        }),
    ],
    ['the key in the document', (secret) => app.gql(`{ posts(tag: "${secret}") { id } }`, { key: secret })],
    ['a syntax error', (secret) => app.gql(`{ ${secret}`, { key: secret })],
    ['GET with api_key', (secret) => socket.fetch(`/graphql?query={viewer{id}}&api_key=${secret}`)],
    [
      'POST with api_key',
      (secret) =>
        socket.fetch(`/graphql?api_key=${secret}`, {
          method: 'POST',
          headers: json,
          body: '{"query":"{ viewer { id } }"}',
        }),
    ],
    [
      'a broken body',
      (secret) => socket.fetch(`/graphql?api_key=${secret}`, { method: 'POST', headers: json, body: '{' }),
    ],
    [
      'a body past the limit',
      (secret) =>
        socket.fetch(`/graphql?api_key=${secret}`, {
          method: 'POST',
          headers: json,
          body: 'x'.repeat(1_100_000),
        }),
    ],
    ['another method', (secret) => socket.fetch(`/graphql?api_key=${secret}`, { method: 'PUT' })],
    [
      'an unknown path',
      (secret) =>
        socket.fetch(`/nowhere?api_key=${secret}`, { headers: { authorization: `Bearer ${secret}` } }),
    ],
    ['health with it', (secret) => socket.fetch(`/health/ready?api_key=${secret}`)],
    [
      'metrics with it',
      (secret) =>
        socket.fetch('/metrics', {
          headers: { authorization: `Bearer ${secret}`, 'x-forwarded-for': '203.0.113.9' },
        }),
    ],
    [
      'another scheme',
      (secret) => socket.fetch('/graphql', { headers: { authorization: `Token ${secret}` } }),
    ],
    ['a cookie', (secret) => socket.fetch('/graphql', { headers: { cookie: `session_id=${secret}` } })],
    ['what is no HTTP', (secret) => socket.send(`GET /graphql?api_key=${secret} HTTP/9.9\r\nx\r\n\r\n`)],
    [
      'a request without a host',
      (secret) => socket.send(`GET /graphql?api_key=${secret} HTTP/1.0\r\nhost: a b\r\n\r\n`),
    ],
    [
      'an event stream',
      async (secret) => {
        const query = encodeURIComponent('subscription { postCreated { id } }');
        const response = await socket.fetch(`/graphql?query=${query}&api_key=${secret}`, {
          headers: { accept: 'text/event-stream' },
        });
        await readEventStream(response).close();
      },
    ],
  ];

  it.each(calls)('are in no log line after %s', async (_what, call) => {
    for (const secret of [caller.key, unknown]) await call(secret);
    const text = app.logged.join('');
    for (const secret of [caller.key, unknown]) {
      expect(text).not.toContain(secret);
      // Not even most of one: only the prefix is for people to recognise it by.
      expect(text).not.toContain(secret.slice(0, 20));
    }
  });

  it('are in no log line after an internal error', async () => {
    await app.database.query(statement('drop_events', 'DROP TABLE tags CASCADE'), []);
    const { status } = await app.gql('query ($tag: String) { posts(tag: $tag) { id } }', {
      key: caller.key,
      variables: { tag: caller.key },
    });
    expect(status).toBe(500);
    const text = app.logged.join('');
    expect(text).toContain('graphql.internal_error');
    expect(text).not.toContain(caller.key);
  });
});
