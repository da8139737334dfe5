import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { postsNamed } from '../../support/keyed.ts';
import { type Members, NAMINGS, published, sendMembers } from '../../support/trusted-documents.ts';

const app = useApp();
const caller = useAccount(app);

const CREATE = 'mutation Create($title: String!) { createPost(title: $title, body: "Body.") { id title } }';
const REFORMATTED = `# The same.
mutation Create ( $title : String! ) {
  createPost( title: $title, body: "Body.", ) { id, title }
}`;
const OTHER = 'mutation Create($title: String!) { createPost(title: $title, body: "Body.") { title id } }';

async function send(members: Members, idempotencyKey: string) {
  const response = await sendMembers(app, members, {
    key: caller.key,
    headers: { 'idempotency-key': idempotencyKey },
  });
  const text = await response.text();
  return { status: response.status, text, replayed: response.headers.get('idempotency-replayed') };
}

describe.each(NAMINGS)('a mutation that is named by %s with an Idempotency-Key', (_name, members) => {
  it('is the same as its text, however that is printed, and as another id of it', async () => {
    const [id, copy] = [await published(app, CREATE), await published(app, REFORMATTED)];
    const [title, own] = [randomUUID(), randomUUID()];
    const variables = { title };
    const first = await send({ ...members(id), variables }, own);
    expect(first).toMatchObject({ status: 200, replayed: null });
    expect(first.text).toContain(title);
    for (const again of [members(id), { query: CREATE }, { query: REFORMATTED }, members(copy)])
      expect(await send({ ...again, variables }, own)).toEqual({ ...first, replayed: 'true' });
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('replays by its id what its text has done', async () => {
    const id = await published(app, CREATE);
    const [title, own] = [randomUUID(), randomUUID()];
    const variables = { title };
    const first = await send({ query: REFORMATTED, variables }, own);
    expect(await send({ ...members(id), variables }, own)).toEqual({ ...first, replayed: 'true' });
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('takes its key for no other text, id or variables', async () => {
    const [id, other] = [await published(app, CREATE), await published(app, OTHER)];
    const [title, own] = [randomUUID(), randomUUID()];
    const variables = { title };
    await send({ ...members(id), variables }, own);
    for (const reused of [
      { query: OTHER, variables },
      { ...members(other), variables },
      { ...members(id), variables: { title: 'Another' } },
    ]) {
      const { status, text } = await send(reused, own);
      expect(status).toBe(422);
      expect(text).toContain('IDEMPOTENCY_KEY_REUSED');
    }
    expect(await postsNamed(app, title)).toBe(1);
  });

  it('leaves its key free where nobody has published the id', async () => {
    const id = `document-${randomUUID()}`;
    const [title, own] = [randomUUID(), randomUUID()];
    const unknown = await send({ ...members(id), variables: { title } }, own);
    expect(unknown.replayed).toBeNull();
    expect(unknown.text).toMatch(/"(?:DOCUMENT|PERSISTED_QUERY)_NOT_FOUND"/);
    expect(await send({ query: CREATE, variables: { title } }, own)).toMatchObject({
      status: 200,
      replayed: null,
    });
  });
});

describe('a mutation that is named over GET', () => {
  it.each(NAMINGS)('is rejected as its text is, by %s', async (_name, members) => {
    const id = await published(app, 'mutation { createPost(title: "over GET", body: "b") { id } }');
    const response = await sendMembers(app, members(id), { key: caller.key, method: 'GET' });
    expect(response.status).toBe(405);
    expect(await postsNamed(app, 'over GET')).toBe(0);
  });
});
