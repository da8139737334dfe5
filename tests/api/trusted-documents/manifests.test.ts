import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { dataOf } from '../../support/rejection.ts';
import {
  askMembers,
  type Files,
  freshId,
  type PublishOptions,
  publishFiles,
} from '../../support/trusted-documents.ts';

const app = useApp();
let key = '';
let userId = '';
beforeAll(async () => {
  ({ key, id: userId } = await app.account());
});

const TEXT = 'query Mine { viewer { id } }';
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const FORMAT = 'apollo-persisted-query-manifest';
const entry = (id: string, body = TEXT) => ({ id, name: 'Mine', type: 'query', body });

async function failureOf(files: Files, options?: PublishOptions): Promise<string> {
  const { json, failure } = await publishFiles(app, files, options);
  expect(json).toBeUndefined();
  return failure ?? 'none';
}

async function expectPublished(files: Files, ids: readonly string[]): Promise<void> {
  const { json } = await publishFiles(app, files);
  expect(json).toEqual({ published: ids.length, unchanged: 0, rejected: [] });
  for (const documentId of ids)
    expect(dataOf(await askMembers(app, { documentId }, { key }))).toEqual({ viewer: { id: userId } });
}

describe('a file of documents', () => {
  it('leads from ids to texts', async () => {
    const [one, two] = [freshId(), freshId()];
    await expectPublished({ 'persisted-documents.json': { [one]: TEXT, [two]: TEXT } }, [one, two]);
  });

  it('may begin with a byte order mark', async () => {
    const id = freshId();
    await expectPublished({ 'persisted-documents.json': `\ufeff${JSON.stringify({ [id]: TEXT })}` }, [id]);
  });

  it('leads from any id, also one that objects have as a member', async () => {
    // As a literal it would be the prototype.
    const file = `{"__proto__":${JSON.stringify(TEXT)},"constructor":${JSON.stringify(TEXT)}}`;
    await expectPublished({ 'persisted-documents.json': file }, ['__proto__', 'constructor']);
  });

  it('is a manifest of Apollo’s, with a list of operations', async () => {
    const [one, two] = [freshId(), freshId()];
    const manifest = { format: FORMAT, version: 1, operations: [entry(one), entry(two)] };
    await expectPublished({ 'manifest.json': manifest }, [one, two]);
  });

  it('is a manifest of Apollo’s, with operations by their ids', async () => {
    const [one, two] = [freshId(), freshId()];
    const { id: _id, ...rest } = entry(one);
    const manifest = { format: FORMAT, version: 1, operations: { [one]: rest, [two]: entry(two) } };
    await expectPublished({ 'manifest.json': manifest }, [one, two]);
  });

  it.each(['mine.graphql', 'mine.gql'])('is a document: %s', async (name) => {
    const text = `# ${freshId()}\n${TEXT}\n`;
    await expectPublished({ [name]: text }, [sha256(text)]);
  });

  it('may come with others, of any form', async () => {
    const [one, two] = [freshId(), freshId()];
    const text = `# ${freshId()}\n${TEXT}`;
    const manifest = { format: FORMAT, version: 1, operations: [entry(two), entry(one)] };
    await expectPublished({ 'a.json': { [one]: TEXT }, 'b.json': manifest, 'c.graphql': text }, [
      one,
      two,
      sha256(text),
    ]);
  });

  it('may not have another text for an id than the next one', async () => {
    const id = freshId();
    const { json } = await publishFiles(app, { 'a.json': { [id]: TEXT }, 'b.json': { [id]: `${TEXT} ` } });
    expect(json).toEqual({
      published: 0,
      unchanged: 0,
      rejected: [{ id, reason: 'The files have different documents with this id.' }],
    });
    const operations = [entry(id), entry(id, `${TEXT} `)];
    const twice = await publishFiles(
      app,
      { 'a.json': { format: FORMAT, version: 1, operations } },
      { partial: true },
    );
    expect(twice.json).toMatchObject({ published: 0, rejected: [{ id }] });
  });

  it('may have it where the other text is rejected by itself, and is rejected then, too', async () => {
    const id = freshId();
    for (const texts of [
      [TEXT, '{ nothing }'],
      ['{ nothing }', TEXT],
    ]) {
      const [a = '', b = ''] = texts;
      const { json } = await publishFiles(
        app,
        { 'a.json': { [id]: a }, 'b.json': { [id]: b } },
        { partial: true },
      );
      expect(json).toMatchObject({ published: 0, unchanged: 0, rejected: [{ id }] });
    }
  });

  it.each([0, 2, 1.5])('of another version of Apollo’s is rejected: %d', async (version) => {
    const failure = await failureOf({ 'm.json': { format: FORMAT, version, operations: [] } });
    expect(failure).toMatch(
      new RegExp(
        `m\\.json is an Apollo manifest of version ${version}, but only version 1 is supported\\. Nothing was published\\.$`,
      ),
    );
  });

  it('that leads from names to ids is rejected with what to give instead', async () => {
    const failure = await failureOf({ 'map.json': { Mine: 'abc', Other: `sha256:${sha256('x')}` } });
    expect(failure).toMatch(
      /map\.json maps names to ids and has no query strings\. Nothing was published\. .+ maps ids to query strings\.$/,
    );
  });

  it.each([
    ['no JSON', 'query Mine {', /neither JSON nor a \.graphql file/],
    ['a list', ['x'], /has an unknown format/],
    ['a string', '"x"', /has an unknown format/],
    ['null', 'null', /has an unknown format/],
    ['a number', '3', /has an unknown format/],
    ['texts that are lists', { a: [TEXT] }, /has an unknown format/],
    [
      'Apollo’s with no bodies',
      { format: FORMAT, version: 1, operations: [{ id: 'x' }] },
      /has an unknown format/,
    ],
    ['Apollo’s with no operations', { format: FORMAT, version: 1 }, /has an unknown format/],
    ['nothing', {}, /is empty/],
    ['nothing, of Apollo’s', { format: FORMAT, version: 1, operations: [] }, /is empty/],
  ])('of no known form is rejected: %s', async (_what, content, message) => {
    for (const partial of [false, true])
      expect(await failureOf({ 'file.json': content }, { partial })).toMatch(message);
  });

  it('that cannot be read is rejected, with all others', async () => {
    const id = freshId();
    const missing = ['document', 'publish', '--client', 'web', '/nowhere/at/all.json'];
    expect((await adminCommand(app, missing)).failure).toMatch(
      /^\/nowhere\/at\/all\.json cannot be read: ENOENT/,
    );
    expect(await failureOf({ 'a.json': { [id]: TEXT }, 'b.json': '{' }, { partial: true })).toMatch(
      /b\.json/,
    );
    const { json } = await adminCommand(app, ['document', 'list']);
    expect(json.map((one: { id: string }) => one.id)).not.toContain(id);
  });
});
