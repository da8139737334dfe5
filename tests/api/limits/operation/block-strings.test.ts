import { describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { dataOf, expectRejected } from '../../../support/rejection.ts';

const times = (count: number, text: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => text(n)).join(' ');

/** Escaped quotes and the end of a block string, which share quotes (GraphQL specification section 2.9.4). */
const TRICKY = ['"""\\""""a"""', '"""a\\""""""', '"""\\"""\\""""a"""', '"""\\\\ """'];

describe('A document with block strings', () => {
  const app = useApp();

  it.each(TRICKY)('has no more room for %s than without', async (text) => {
    const { key } = await app.account();
    const ask = (fields: string) => app.gql(`{ posts(tag: ${text}) { id } ${fields} }`, { key });
    expect(dataOf(await ask('')).posts).toEqual([]);
    const name = 'n'.repeat(101);
    for (const fields of [
      times(31, (n) => `a${n}: __typename`),
      times(51, () => '... @include(if: true) { __typename }'),
    ])
      expectRejected(await ask(fields), { code: 'COMPLEXITY_LIMIT', status: 400 });
    expectRejected(await ask(`${name}: __typename`), { code: 'COMPLEXITY_LIMIT', status: 400 });
  });

  it.each([
    ['directives', times(60, () => '@skip')],
    ['names', times(1_200, (n) => `a${n}`)],
    ['brackets', '{'.repeat(150)],
  ])('may have what looks like %s in its text', async (_what, content) => {
    const { key } = await app.account();
    const body = `say \\"""" ${content} `;
    const { createPost } = dataOf(
      await app.gql(`mutation { createPost(title: "t", body: """${body}""") { body } }`, { key }),
    );
    expect(createPost.body).toBe(body.replace('\\', ''));
  });
});
