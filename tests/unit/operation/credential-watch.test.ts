import { expect, it } from 'vitest';
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

it('repeats a check that failed long before the next regular one, and tells of it once', async () => {
  // After five seconds of failures, the log has another line.
  stopTimeInTest();
  const logged: string[] = [];
  let failures = 3;
  const watch = createCredentialWatch({
    async renew() {
      failures -= 1;
      if (failures >= 0) throw new Error('on purpose');
      return undefined;
    },
    recheckMs: 3_600_000,
    now: () => Date.now(),
    log: createLogger({
      level: 'info',
      pretty: false,
      destination: { write: (line) => void logged.push(line) },
    }),
  });
  const lost = new Promise((resolve) => watch.watch(principal, resolve));
  watch.recheck('key');
  expect(await lost).toBeUndefined();
  const message = 'streams.credential_check_failed';
  expect(linesOf(logged, message)).toHaveLength(1);
});
