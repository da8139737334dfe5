import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { planOf, statementsOf } from '../../../support/database/watched-statements.ts';
import { expectBadInput } from '../../../support/rejection.ts';

describe('Query.posts(tag:)', () => {
  const app = useApp();

  it('passes over what `offset` skips without reading the posts', async () => {
    const { key } = await app.account();
    const read = await statementsOf(app, key, '{ posts(tag: "skipped", limit: 5, offset: 10) { title } }');
    const list = read.find(({ text }) => text.includes('OFFSET'));
    if (list === undefined) throw new Error('nothing was skipped');
    const plan = await planOf(app, list, 'COSTS');
    // Once, for the rows that are shown.
    expect(plan.match(/"Relation Name":"posts"/g)).toHaveLength(1);
  });

  it.each([
    ['the empty one', ''],
    ['51 characters', 'x'.repeat(51)],
    ['NUL', 'a\0'],
    ['a lone surrogate', '\ud83d'],
  ])('rejects what can be no tag: %s', async (_what, tag) => {
    const { key } = await app.account();
    const list = 'query ($tag: String!) { posts(tag: $tag) { id } }';
    expectBadInput(await app.gql(list, { key, variables: { tag } }), 'tag');
    const connection = 'query ($tag: String!) { postsConnection(tag: $tag) { nodes { id } } }';
    expectBadInput(await app.gql(connection, { key, variables: { tag } }), 'tag');
  });
});
