import { expect, it, vi } from 'vitest';
import type { Principal } from '../../../src/auth/principal.ts';
import { createCredentialWatch } from '../../../src/engine/subscriptions/credential-watch.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { linesOf } from '../../support/log-lines.ts';
import { stopTimeInTest } from '../../support/time/timers.ts';

const principal: Principal = {
  kind: 'api-key',
  userId: 'somebody',
  role: 'member',
  scopes: new Set(['posts:read']),
  clientId: 'client',
  credentialId: 'key',
  rateLimit: undefined,
  expiresAtMs: undefined,
};

const logged: string[] = [];
const options = {
  recheckMs: 3_600_000,
  now: () => Date.now(),
  log: createLogger({
    level: 'info',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  }),
};

it('repeats a check that failed long before the next regular one, and tells of it once', async () => {
  // After five seconds of failures, the log has another line.
  stopTimeInTest();
  let failures = 3;
  const watch = createCredentialWatch({
    ...options,
    async renew() {
      failures -= 1;
      if (failures >= 0) throw new Error('on purpose');
      return undefined;
    },
  });
  const lost = new Promise((resolve) => watch.watch(principal, resolve));
  watch.recheck('key');
  expect(await lost).toBeUndefined();
  const message = 'streams.credential_check_failed';
  expect(linesOf(logged, message)).toHaveLength(1);
});

it('checks credentials at the start of a stream only if they were revoked shortly before', async () => {
  const renew = vi.fn(async () => undefined);
  const watch = createCredentialWatch({ ...options, renew });
  const lose = () => new Promise((resolve) => watch.watch(principal, resolve));
  const lost = lose();
  expect(renew).not.toHaveBeenCalled();
  watch.recheck('key');
  await lost;
  const lostAtStart = lose();
  expect(renew).toHaveBeenCalledTimes(2);
  expect(await lostAtStart).toBeUndefined();
});
