import { decodeJwt } from 'jose';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../../src/platform/deadline.ts';
import { type TestApp, useApp } from '../../support/app.ts';
import { askToken, oauthClient } from '../../support/credentials/oauth.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { linesOf } from '../../support/log-lines.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { holdTimers } from '../../support/time/timers.ts';

const LIFE_SECONDS = 900;
const DIFFER = 'clock.skewed';
const realMs = Date.now.bind(Date);

describe.each([
  ['two hours ahead', 7_200],
  ['two hours behind', -7_200],
])('On an instance whose clock is %s', (_what, aheadSeconds) => {
  // A service that is given a clock does not compare the clock with the database while the other instance has its turn.
  const right = useApp({ clock: { ...systemClock, now: realMs } });
  let wrong: Pick<TestApp, 'fetch'>;
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: realMs() + aheadSeconds * 1_000 });
    // The instance compares its clock now, and not again when the time is right.
    const timers = holdTimers(1_000);
    wrong = secondInstance(right);
    timers.release();
    await expect.poll(() => linesOf(right.logged, DIFFER)).not.toEqual([]);
  });
  afterEach(() => void vi.useRealTimers());

  it('a token lives as long as promised, and tokens of others are taken', async () => {
    const { id } = await right.account();
    const client = await oauthClient(right, { owner: { id }, grants: ['client_credentials'] });
    const fields = { grant_type: 'client_credentials' };
    const signedHere = await askToken(wrong, client, fields);
    expect(signedHere.body).toMatchObject({ expires_in: LIFE_SECONDS });
    vi.useRealTimers();
    const signedThere = await askToken(right, client, fields);
    for (const { body } of [signedHere, signedThere]) {
      const { iat = 0, exp = 0 } = decodeJwt(body.access_token);
      expect(exp - iat).toBe(LIFE_SECONDS);
      expect(Math.abs(iat - realMs() / 1_000)).toBeLessThan(60);
      const ask = ({ fetch }: Pick<TestApp, 'fetch'>) =>
        fetch('/graphql', graphqlPost('{ viewer { id } }', { key: body.access_token }));
      expect((await ask(right)).status).toBe(200);
      vi.useFakeTimers({ toFake: ['Date'], now: realMs() + aheadSeconds * 1_000 });
      expect((await ask(wrong)).status).toBe(200);
      vi.useRealTimers();
    }
  });
});
