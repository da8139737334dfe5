import { describe, expect, it } from 'vitest';
import { type TestApp, useApp } from '../../support/app.ts';
import { useCountedDatabase } from '../../support/database/statement-count.ts';
import { CREATE_ALONE, CREATE_POST, type KeyedRequest, send, withForm } from '../../support/keyed.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { clockOf } from '../../support/time/stepped-clock.ts';

describe('What a mutation asks of the database', () => {
  // Held still, the clock keeps the credential cached: what is counted is the mutation's own work.
  const now = Date.now();
  const clock = clockOf(() => now);
  const counted = useCountedDatabase();
  const app = useApp({ settings: counted.settings, clock });

  /** The statements and the round trips of a request, once the credential is known. */
  async function workOf(instance: Pick<TestApp, 'fetch'>, request: KeyedRequest) {
    const { key = '' } = request;
    expect((await send(instance, { query: '{ viewer { id } }', key })).status).toBe(200);
    const [statements, trips] = [counted.completed.length, counted.roundTrips()];
    const { status } = await send(instance, request);
    expect(status).toBe(200);
    return {
      statements: counted.completed.slice(statements).map((tag) => tag.replace(/ .*$/, '')),
      trips: counted.roundTrips() - trips,
    };
  }

  /** Looked for without a transaction; then begun, locked and looked for once more, in one flight. */
  const BEFORE = ['SELECT', 'BEGIN', 'SELECT', 'SELECT'];
  const AFTER = ['INSERT', 'COMMIT'];
  const ONE = { statements: ['SELECT'], trips: 1 };

  it('is one statement without a key, and in form 2 with a key', async () => {
    const { key } = await app.account();
    const request = { query: CREATE_ALONE, variables: { title: 't' }, key };
    const form2 = secondInstance(app, { config: withForm(app, 2), clock });
    expect(await workOf(app, request)).toEqual(ONE);
    for (const idempotencyKey of ['a', 'b', 'c'])
      expect(await workOf(form2, { ...request, idempotencyKey })).toEqual(ONE);
    // The retry finds out that it is one.
    expect(await workOf(form2, { ...request, idempotencyKey: 'a' })).toEqual({
      statements: ['SELECT', 'SELECT'],
      trips: 2,
    });
  });

  it('is a transaction in form 1, which begins in one round trip', async () => {
    const { key } = await app.account();
    const request = { query: CREATE_ALONE, variables: { title: 't' }, key };
    for (const idempotencyKey of ['a', 'b'])
      expect(await workOf(app, { ...request, idempotencyKey })).toEqual({
        statements: [...BEFORE, 'SELECT', ...AFTER],
        trips: 5,
      });
    expect(await workOf(app, { ...request, idempotencyKey: 'a' })).toEqual(ONE);
  });

  it('is a transaction in either form where more than a row is asked for', async () => {
    const { key } = await app.account();
    const request = { query: CREATE_POST, variables: { title: 't' }, key };
    const form2 = secondInstance(app, { config: withForm(app, 2), clock });
    for (const [index, instance] of [app, form2, app, form2].entries()) {
      const idempotencyKey = `key ${index}`;
      expect(await workOf(instance, { ...request, idempotencyKey })).toEqual({
        statements: [...BEFORE, 'SELECT', 'SELECT', ...AFTER],
        trips: 6,
      });
      expect(await workOf(instance, { ...request, idempotencyKey })).toEqual(ONE);
    }
  });
});
