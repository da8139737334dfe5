import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { useCountedDatabase } from '../../support/database/statement-count.ts';
import { CREATE_ALONE, CREATE_POST, type KeyedRequest, send } from '../../support/keyed.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

/** Looked for without a transaction; then begun, locked and looked for once more, in one flight. */
const BEFORE = ['SELECT', 'BEGIN', 'SELECT', 'SELECT'];
const AFTER = ['INSERT', 'COMMIT'];
const ONE = { statements: ['SELECT'], trips: 1 };

describe('What a mutation asks of the database', () => {
  // Held still, the clock keeps the credential cached: what is counted is the mutation's own work.
  const now = Date.now();
  const counted = useCountedDatabase();
  const app = useApp({ settings: counted.settings, clock: clockOf(() => now) });

  /** An account whose credential the service knows. */
  async function known(): Promise<string> {
    const { key } = await app.account();
    expect((await send(app, { query: CREATE_ALONE, variables: { title: 'first' }, key })).status).toBe(200);
    return key;
  }

  /** The statements and the round trips of a request. */
  async function workOf(request: KeyedRequest) {
    const [statements, trips] = [counted.completed.length, counted.roundTrips()];
    expect((await send(app, request)).status).toBe(200);
    return {
      statements: counted.completed.slice(statements).map((tag) => tag.replace(/ .*$/, '')),
      trips: counted.roundTrips() - trips,
    };
  }

  it('is one statement without a key', async () => {
    expect(await workOf({ query: CREATE_ALONE, variables: { title: 't' }, key: await known() })).toEqual(ONE);
  });

  it('is one statement with a key, and a retry finds out by trying', async () => {
    const request = { query: CREATE_ALONE, variables: { title: 't' }, key: await known() };
    for (const idempotencyKey of ['a', 'b', 'c'])
      expect(await workOf({ ...request, idempotencyKey })).toEqual(ONE);
    const replay = { statements: ['SELECT', 'SELECT'], trips: 2 };
    expect(await workOf({ ...request, idempotencyKey: 'a' })).toEqual(replay);
  });

  it('is a transaction with a key where more than the row is asked for', async () => {
    const request = { query: CREATE_POST, variables: { title: 't' }, key: await known() };
    for (const idempotencyKey of ['a', 'b']) {
      // The author is read, and then the author's e-mail address, which not everybody may see.
      const first = { statements: [...BEFORE, 'SELECT', 'SELECT', 'SELECT', ...AFTER], trips: 7 };
      expect(await workOf({ ...request, idempotencyKey })).toEqual(first);
      expect(await workOf({ ...request, idempotencyKey })).toEqual(ONE);
    }
  });
});
