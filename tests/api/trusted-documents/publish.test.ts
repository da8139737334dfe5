import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { freshId, publish, published, retire } from '../../support/trusted-documents.ts';

const app = useApp();
const TEXT = 'query Mine { viewer { id } }';
const OTHER = 'query Other { viewer { name } }';
const TAKEN = 'The id belongs to another document, and the document of an id never changes.';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const done = (count: number, unchanged = 0) => ({ published: count, unchanged, rejected: [] });

interface Listed {
  readonly id: string;
  readonly client: string;
  readonly release: string | null;
  readonly lastUsedAt: string | null;
}

async function list(...args: readonly string[]): Promise<Listed[]> {
  return (await adminCommand(app, ['document', 'list', ...args])).json;
}
const isListed = async (id: string) => (await list()).some((document) => document.id === id);

/** Publishes one text, which must be rejected. Why. */
async function reasonFor(text: string, id = freshId()): Promise<string> {
  const { json, failure } = await publish(app, { [id]: text });
  expect(json).toMatchObject({ published: 0, unchanged: 0, rejected: [{ id }] });
  expect(failure).toBe(
    'Rejected: 1 of 1 documents. Nothing was published. Correct the documents, or publish the others with --partial.',
  );
  expect(await isListed(id)).toBe(false);
  return json.rejected[0].reason;
}

describe('ids', () => {
  it.each([
    'a',
    'x'.repeat(128),
    'a b/c:"~',
    '0',
    'Mine',
    'constructor',
    'md5:x',
    'sha256:short',
    `sha256:${'g'.repeat(64)}`,
  ])('may be %j', async (id) => {
    expect((await publish(app, { [id]: TEXT })).json).toEqual(done(1));
    expect(await isListed(id)).toBe(true);
  });

  it.each(['', 'x'.repeat(129), 'a\nb', 'a\u0000', 'é', '\u007f'])('may not be %j', async (id) => {
    expect(await reasonFor(TEXT, id)).toBe('An id must have 1 to 128 printable ASCII characters.');
  });

  it('that say that they are a SHA-256 are that of the text', async () => {
    expect((await publish(app, { [`sha256:${sha256(TEXT)}`]: TEXT })).json).toEqual(done(1));
    const loud = `sha256:${sha256(OTHER).toUpperCase()}`;
    expect((await publish(app, { [loud]: OTHER })).json).toEqual(done(1));
    const reason = await reasonFor(`${TEXT} `, `sha256:${'0'.repeat(64)}`);
    expect(reason).toBe('The id is not the SHA-256 of the document.');
  });

  it('are not computed: two may have the same text, and a hash that of another', async () => {
    expect(
      (await publish(app, { [freshId()]: TEXT, [freshId()]: TEXT, [sha256('something else')]: TEXT })).json,
    ).toEqual(done(3));
  });

  it('never get another text, whoever publishes it, and also after they were retired', async () => {
    const id = await published(app, TEXT, { client: 'one', release: '1' });
    const again = async (text: string) => (await publish(app, { [id]: text }, { client: 'two' })).json;
    expect((await again(OTHER)).rejected).toEqual([{ id, reason: TAKEN }]);
    // A reprinted text is another one.
    expect((await again(`${TEXT} `)).rejected).toEqual([{ id, reason: TAKEN }]);
    expect(await retire(app, id)).toBe(1);
    expect((await again(OTHER)).rejected).toEqual([{ id, reason: TAKEN }]);
    expect(await isListed(id)).toBe(false);
    expect(await again(TEXT)).toEqual(done(1));
  });
});

describe('publishing', () => {
  it('is all or nothing', async () => {
    const [good, bad, worse] = [freshId(), freshId(), freshId()];
    const taken = await published(app, TEXT);
    const texts = { [good]: TEXT, [bad]: 'query Bad { nothing }', [worse]: '{', [taken]: OTHER };
    const { json, failure } = await publish(app, texts);
    expect(json).toMatchObject({ published: 0, unchanged: 0 });
    expect(json.rejected.map(({ id }: Listed) => id).sort()).toEqual([bad, worse, taken].sort());
    expect(failure).toBe(
      'Rejected: 3 of 4 documents. Nothing was published. Correct the documents, or publish the others with --partial.',
    );
    expect(await isListed(good)).toBe(false);
  });

  it('is of the others with --partial', async () => {
    const [good, bad] = [freshId(), freshId()];
    const known = await published(app, TEXT);
    const taken = await published(app, TEXT);
    const { json, failure } = await publish(
      app,
      { [good]: TEXT, [bad]: 'query Bad { nothing }', [known]: TEXT, [taken]: OTHER },
      { partial: true },
    );
    expect(failure).toBeUndefined();
    expect(json).toMatchObject({ published: 1, unchanged: 1 });
    expect(json.rejected.map(({ id }: Listed) => id).sort()).toEqual([bad, taken].sort());
    expect([await isListed(good), await isListed(bad)]).toEqual([true, false]);
  });

  it('again changes nothing, and of another release counts anew', async () => {
    const id = await published(app, TEXT, { client: 'again' });
    expect((await publish(app, { [id]: TEXT }, { client: 'again' })).json).toEqual(done(0, 1));
    expect((await publish(app, { [id]: TEXT }, { client: 'again', release: '2' })).json).toEqual(done(1));
  });

  it('needs the name of a client, and a release that has one', async () => {
    const id = await published(app, TEXT);
    for (const args of [
      ['document', 'publish', 'x.json'],
      ['document', 'publish', '--client', 'web'],
    ])
      await expect(adminCommand(app, args)).rejects.toMatchObject({ name: 'CommanderError' });
    await expect(publish(app, { [id]: TEXT }, { release: ' ' })).rejects.toMatchObject({
      name: 'CommanderError',
    });
  });
});

describe('what a request would be rejected with', () => {
  const nested = (levels: number) =>
    `query Deep { posts(limit: 1) ${'{ author { posts(limit: 1) '.repeat(levels)}{ id }${' } }'.repeat(levels)} }`;
  const wide = (limit: string, definition = '') =>
    `query Wide${definition} { posts(limit: ${limit}) { author { posts(limit: ${limit}) { id } } } }`;

  it.each([
    [
      'Bad',
      'query Bad { nothing }',
      /^Bad: Cannot query field "nothing" on type "Query"\. \(line 1, column 13\)$/,
    ],
    ['Deep', nested(12), /^Deep: Depth \d+ exceeds the limit of \d+\./],
    ['Wide', wide('100'), /^Wide: Complexity \d+ exceeds the limit of \d+\./],
    ['defaults', wide('$n', '($n: Int = 100)'), /^Wide: Complexity \d+ exceeds the limit of \d+\./],
    [
      'Live',
      'subscription Live { postCreated { author { role } } }',
      /^Live: Field "role" cannot be selected in a subscription\./,
    ],
    ['one of two', 'query Good { __typename } query Bad { nothing }', /^Good, Bad: Cannot query field/],
    ['no operation', 'fragment F on Post { id }', /^It has no operation\.$/],
    ['no document', 'query Cut {', /^Syntax Error: .+ \(line 1, column \d+\)$/],
    ['tokens', `query Long { ${'a: __typename '.repeat(2_000)} }`, /1000/],
    ['NUL', '{ post(id: "\u0000") { id } }', /^It has characters that are no text\.$/],
    ['half a character', '{ post(id: "\ud800") { id } }', /./],
  ])('is why a document is rejected: %s', async (_what, text, reason) => {
    expect(await reasonFor(text)).toMatch(reason);
  });

  it('is not what the values of its variables could be: those come with requests', async () => {
    const { key } = await app.account();
    const text = wide('$n', '($n: Int!)');
    const id = await published(app, text);
    await published(app, wide('$n', '($n: Int)'));
    const { refused, few } = {
      refused: await app.fetch('/graphql', request(id, key, 100)),
      few: await app.fetch('/graphql', request(id, key, 1)),
    };
    expect((await refused.json()).errors[0].extensions.code).toBe('COMPLEXITY_LIMIT');
    expect((await few.json()).data.posts).toEqual([]);
  });

  const request = (documentId: string, key: string, n: number) => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ documentId, variables: { n } }),
  });
});

describe('document list', () => {
  it('has all publications, or those of a client, oldest first, with the last use', async () => {
    const { key } = await app.account();
    const id = await published(app, TEXT, { client: 'listed', release: '1' });
    await publish(app, { [id]: TEXT }, { client: 'listed', release: '2' });
    await publish(app, { [id]: TEXT }, { client: 'elsewhere' });
    const rows = await list('--client', 'listed');
    const row = {
      id,
      client: 'listed',
      operationName: 'Mine',
      lastUsedAt: null,
      publishedAt: expect.any(String),
    };
    expect(rows).toEqual([
      { ...row, release: '1' },
      { ...row, release: '2' },
    ]);
    expect((await list()).filter((one) => one.id === id)).toHaveLength(3);
    expect(await list('--client', 'nobody')).toEqual([]);
    await (
      await app.fetch(`/graphql?documentId=${id}`, { headers: { authorization: `Bearer ${key}` } })
    ).text();
    await expect
      .poll(async () => (await list('--client', 'elsewhere'))[0]?.lastUsedAt)
      .toEqual(expect.any(String));
  });
});
