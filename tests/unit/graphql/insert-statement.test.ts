import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createResponseSeal, keyLock } from '../../../src/engine/mutations/idempotency/store.ts';
import { RULES } from '../../../src/schema/limits.ts';
import { insertPost } from '../../../src/schema/post/mutations.ts';

const SOURCE = new URL('../../../src/engine/core/single-statement.ts', import.meta.url);

/** The same SQL, however its lines are broken. */
const oneLine = (sql: string) => sql.replace(/\s+/g, ' ').trim();

it('is shown whole where it is composed, for a keyed createPost', () => {
  const shown = /@example\n([\s\S]+?)\*\//.exec(readFileSync(SOURCE, 'utf8'))?.[1] ?? '';
  const { statement, values } = insertPost(
    { userId: '01a1fc10-e42a-75fd-955d-85b049da6df5' },
    { title: 'title', body: 'body', tags: [] },
    RULES.post,
  );
  const { sql } = keyLock(
    { userId: 'u', key: 'k' },
    (body) => ({ body, fingerprint: Buffer.alloc(0), status: 200, sessionId: null, scopes: [] }),
    { responseSeal: createResponseSeal('a secret of the service with 32 bytes', undefined) },
  );
  const { text } = statement.keyed(sql, values.length + 1);
  expect(oneLine(text)).toBe(oneLine(shown.replaceAll(/^ \* ?/gm, '')));
});
