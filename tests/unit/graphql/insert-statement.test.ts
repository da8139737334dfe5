import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { insertStatement } from '../../../src/engine/core/single-statement.ts';
import {
  createResponseEncryption,
  keyLock,
} from '../../../src/engine/mutations/idempotency/response-store.ts';
import { POST_CREATED } from '../../../src/schema/event-kinds.ts';

const SOURCE = new URL('../../../src/engine/core/single-statement.ts', import.meta.url);

/** The same SQL, however its lines are broken. */
const oneLine = (sql: string) => sql.replace(/\s+/g, ' ').trim();

it('is shown whole where it is composed, for a keyed mutation', () => {
  const shown = /@example\n([\s\S]+?)\*\//.exec(readFileSync(SOURCE, 'utf8'))?.[1] ?? '';
  const statement = insertStatement(
    'example_insert',
    'INSERT INTO posts (id, title, body, author_id) SELECT $1::uuid, $2, $3, $4::uuid',
    { columns: ['author_id'], parts: { event: POST_CREATED.append } },
  );
  const { sql } = keyLock(
    { userId: 'u', key: 'k' },
    (body) => ({ body, fingerprint: Buffer.alloc(0), status: 200, sessionId: null, scopes: [] }),
    { responseEncryption: createResponseEncryption('a secret of the service with 32 bytes', undefined) },
  );
  const { text } = statement.keyed(sql, 5);
  expect(oneLine(text)).toBe(oneLine(shown.replaceAll(/^ \* ?/gm, '')));
});
