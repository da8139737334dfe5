import { describe, expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';

describe('Several fields of one response that fail', () => {
  const app = useApp();

  // Not for a key: every item fails, some at once and some after a read.
  // The viewer's e-mail is found out in time and the others' at once; the lists are not for a key.
  it.each([
    '{ users(limit: 3) { email oauthGrants { id } } }',
    '{ usersConnection(limit: 3) { nodes { email apiKeys { id } } } }',
    '{ posts(limit: 3) { author { email sessions { id } } } }',
  ])('leave no rejection behind that would end the process: %s', async (query) => {
    const first = await app.account();
    const second = await app.account();
    for (const { key } of [first, second]) await createPost(app, key);
    // Another file in this process may have left rejections behind, which come before.
    await new Promise((resolve) => setImmediate(resolve));
    const unhandled: unknown[] = [];
    const note = (error: unknown) => void unhandled.push(error);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const response = await app.gql(query, { key: first.key });
    expect(response.errors?.[0]?.extensions.code).toBeDefined();
    // Node tells of them once the queue of microtasks is empty.
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });
});
