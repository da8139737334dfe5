import { describe, expect, it } from 'vitest';
import { CONTENT_LIMITS } from '../../../../src/schema/content-limits.ts';
import { useAccount, useApp } from '../../../support/app.ts';
import { useSocket } from '../../../support/socket.ts';

const LIMIT = 1024 ** 2;

/** A request of exactly so many bytes, padded in a variable that it does not declare. */
function bodyOf(bytes: number): string {
  const [head, tail] = ['{"query":"{ viewer { name } }","variables":{"pad":"', '"}}'];
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
}

/** JSON with an escape for each UTF-16 unit of a value, as encoders write it that trust no character. */
const escaped = (value: unknown): string =>
  JSON.stringify(value).replaceAll(
    /[^\n -;=-~]|</g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

describe('the limit of a body', () => {
  const app = useApp();
  const socket = useSocket(app);
  const caller = useAccount(app, { name: 'Ada' });
  const headers = () => ({ authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' });
  const post = (body: BodyInit, more: RequestInit & { duplex?: 'half' } = {}) =>
    socket.fetch('/graphql', { method: 'POST', headers: headers(), body, ...more });
  const head = (...lines: readonly string[]) =>
    [
      'POST /graphql HTTP/1.1',
      'host: localhost',
      `authorization: Bearer ${caller.key}`,
      'content-type: application/json',
      ...lines,
      '',
      '',
    ].join('\r\n');
  const statusLine = (result: string) => result.split('\r\n', 1)[0];

  it('takes 1 MiB', async () => {
    const response = await post(bodyOf(LIMIT));
    expect(await response.json()).toEqual({ data: { viewer: { name: 'Ada' } } });
  });

  it.each([
    ['CJK characters', '\u5b57'],
    ['emoji', '\u{1f600}'],
    ['characters that some encoders escape', '<'],
  ])('takes the longest post of %s in the longest encoding of JSON', async (_what, character) => {
    const { body, title, tag, maxTags } = CONTENT_LIMITS.post;
    const tags = Array.from({ length: maxTags }, (_, at) => `${at}${character.repeat(tag.max - 1)}`);
    const variables = { title: character.repeat(title.max), body: character.repeat(body.max), tags };
    const query = `mutation ($title: String!, $body: String!, $tags: [String!]) {
      createPost(title: $title, body: $body, tags: $tags) { body }
    }`;
    const response = await post(escaped({ query, variables }));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { createPost: { body: variables.body } } });
  });

  it('takes the longest post as a literal, in the longest encoding of both languages', async () => {
    const literal = '\\ud83d\\ude00'.repeat(CONTENT_LIMITS.post.body.max);
    const query = `mutation { createPost(title: "t", body: "${literal}") { body } }`;
    const response = await post(JSON.stringify({ query }));
    expect(await response.json()).toEqual({
      data: { createPost: { body: '\u{1f600}'.repeat(CONTENT_LIMITS.post.body.max) } },
    });
  });

  it('rejects one byte more with 413', async () => {
    const response = await post(bodyOf(LIMIT + 1));
    expect(response.status).toBe(413);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('x-request-id')).toBeTruthy();
    expect(await response.json()).toEqual({
      errors: [{ message: expect.stringContaining(String(LIMIT)), extensions: { code: 'BAD_REQUEST' } }],
    });
  });

  it('rejects by the length announced, before any of the body is there', async () => {
    const result = await socket.send(head('content-length: 5000000'));
    expect(statusLine(result)).toBe('HTTP/1.1 413 Payload Too Large');
  });

  it('counts a body of chunks, and stops reading where it is too long', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const result = await socket.send(head('transfer-encoding: chunked'), ...Array(17).fill(chunk));
    expect(statusLine(result)).toBe('HTTP/1.1 413 Payload Too Large');
    expect(result).toContain('"code":"BAD_REQUEST"');
  });

  it('takes a body of chunks within the limit', async () => {
    const body = new Blob([bodyOf(1_000)]).stream();
    const response = await post(body, { duplex: 'half' });
    expect(await response.json()).toEqual({ data: { viewer: { name: 'Ada' } } });
  });

  it('rejects 5 MB with 413 also without credentials, and goes on answering', async () => {
    const [first, second] = await Promise.all([
      socket.send(head('content-length: 5000000').replace(caller.key, 'none'), 'x'.repeat(1_000)),
      post(bodyOf(100)),
    ]);
    expect(statusLine(first)).toMatch(/^HTTP\/1.1 (401|413) /);
    expect(second.status).toBe(200);
  });

  it('counts bytes, not characters, also where no socket is in between', async () => {
    const body = JSON.stringify({ query: '{ viewer { name } }', variables: { pad: '€'.repeat(360_000) } });
    expect(body.length).toBeLessThan(LIMIT);
    const response = await app.fetch('/graphql', { method: 'POST', headers: headers(), body });
    expect(response.status).toBe(413);
  });
});
