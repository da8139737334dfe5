import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { createComment, createPost } from '../../../support/content.ts';
import { dataOf, expectBadInput } from '../../../support/rejection.ts';

interface TextArgument {
  readonly coordinate: string;
  readonly argument: string;
  readonly max: number;
  /** True if the string must contain a visible character. */
  readonly visible: boolean;
  /** The operation with the text as `$text`, a post as `$id` and a comment as `$comment`, giving the stored text under `stored.text`. */
  readonly query: string;
}

/** White space, control characters and characters that no font shows. */
const INVISIBLE = [
  ' ',
  '\t',
  '\n',
  '\u0001',
  '\u0085',
  '\u00a0',
  '\u00ad',
  '\u200b',
  '\u2800',
  '\u3000',
  '\ufeff',
];
const VISIBLE = /[^\p{White_Space}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/u;

const ARGUMENTS: readonly TextArgument[] = [
  {
    coordinate: 'Mutation.createPost(title:)',
    argument: 'title',
    max: 200,
    visible: true,
    query: 'mutation ($text: String!) { stored: createPost(title: $text, body: "B") { text: title } }',
  },
  {
    coordinate: 'Mutation.createPost(body:)',
    argument: 'body',
    max: 50_000,
    visible: false,
    query: 'mutation ($text: String!) { stored: createPost(title: "T", body: $text) { text: body } }',
  },
  {
    coordinate: 'Mutation.updatePost(title:)',
    argument: 'title',
    max: 200,
    visible: true,
    query:
      'mutation ($id: ID!, $text: String!) { stored: updatePost(id: $id, title: $text) { text: title } }',
  },
  {
    coordinate: 'Mutation.updatePost(body:)',
    argument: 'body',
    max: 50_000,
    visible: false,
    query: 'mutation ($id: ID!, $text: String!) { stored: updatePost(id: $id, body: $text) { text: body } }',
  },
  {
    coordinate: 'Mutation.createComment(body:)',
    argument: 'body',
    max: 5_000,
    visible: false,
    query:
      'mutation ($id: ID!, $text: String!) { stored: createComment(postId: $id, body: $text) { text: body } }',
  },
  {
    coordinate: 'Mutation.updateComment(body:)',
    argument: 'body',
    max: 5_000,
    visible: false,
    query:
      'mutation ($comment: ID!, $text: String!) { stored: updateComment(id: $comment, body: $text) { text: body } }',
  },
];

/** Any sequence of UTF-16 code units: whole characters of every plane, and now and then half of one, or NUL. */
const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 60 }) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.integer({ min: 0, max: 0xff_ff }), { maxLength: 12 })
      .map((units) => String.fromCharCode(...units)),
  },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom(...INVISIBLE), maxLength: 5 }),
  },
);

describe.each(ARGUMENTS)('$coordinate', ({ argument, max, visible, query }) => {
  const send = (text: string) => app.gql(query, { key, variables: { id: postId, comment: commentId, text } });

  it('takes a text exactly when the rules allow it, and gives it back unchanged', async () => {
    const allowed = (text: string) =>
      text !== '' && !text.includes('\0') && text.isWellFormed() && (!visible || VISIBLE.test(text));
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const response = await send(text);
        if (allowed(text)) expect(dataOf(response).stored.text).toBe(text);
        else expectBadInput(response, argument);
      }),
      { numRuns: 60 },
    );
  });

  it.each(INVISIBLE)(
    visible ? 'rejects a string of only %j' : 'accepts a string of only %j',
    async (character) => {
      for (const text of [character, character.repeat(3)]) {
        const response = await send(text);
        if (visible) expectBadInput(response, argument, /must contain a visible character\.$/);
        else expect(dataOf(response).stored.text).toBe(text);
      }
      expect(dataOf(await send(`${character}x`)).stored.text).toBe(`${character}x`);
    },
  );

  it.each([
    ['letters', 'x'],
    ['characters of two code units', '👩'],
  ])('counts code points: %s', async (_what, character) => {
    const longest = character.repeat(max);
    expect(dataOf(await send(longest)).stored.text).toBe(longest);
    expectBadInput(await send(`${longest}${character}`), argument, new RegExp(`1 to ${max} .*${max + 1}`));
  });
});

const app = useApp();
let key = '';
let postId = '';
let commentId = '';

beforeAll(async () => {
  key = (await app.account()).key;
  postId = await createPost(app, key);
  commentId = await createComment(app, key, postId);
});
