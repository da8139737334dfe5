import { expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { useApp } from '../../support/app.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { send } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp();
const BODY = 'b'.repeat(50_000);
const LARGE = `mutation ($b: String!) { createPost(title: "t", body: $b) { x: body y: body z: body } }`;

/** The longest value of bytes that the database has sent for somebody. */
function watchedBytes(database: Database) {
  let longest = 0;
  const look = (rows: readonly unknown[]) => {
    for (const row of rows)
      for (const value of Object.values(row as object))
        if (Buffer.isBuffer(value)) longest = Math.max(longest, value.length);
  };
  const watched = watchedDatabase(database, () => undefined, look);
  return { watched, longest: () => longest };
}

it('counts a long stored response for its account before it is read', async () => {
  const { key } = await app.account();
  const request = { query: LARGE, variables: { b: BODY }, key, idempotencyKey: 'large' };
  const first = await send(app, request);
  expect(first).toMatchObject({ status: 200, replayed: null });

  const { watched, longest } = watchedBytes(app.database);
  const narrow = { ...app.config, maxPendingResponseBytes: 8 * 100_000 };
  const rejected = await send(secondInstance(app, { config: narrow, database: watched }), request);
  expect(rejected.status).toBe(429);
  expect(JSON.parse(rejected.text).errors[0].extensions.code).toBe('RATE_LIMITED');
  expect(longest()).toBeLessThan(1_000);

  const wide = await send(secondInstance(app, { database: watched }), request);
  expect(wide).toMatchObject({ status: 200, text: first.text, replayed: 'true' });
  expect(longest()).toBeGreaterThan(3 * BODY.length);
});
