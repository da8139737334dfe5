import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { createJwtStrategy } from '../../../src/auth/jwt.ts';
import type { Principal } from '../../../src/auth/principal.ts';
import type { Queryable } from '../../../src/database/statement.ts';
import { createOwnTokens } from '../../../src/features/oauth/access-token.ts';
import { createKeyRing } from '../../../src/features/oauth/signing-keys.ts';
import { systemClock } from '../../../src/platform/deadline.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { useApp } from '../../support/app.ts';
import { oauthClient } from '../../support/credentials/oauth.ts';

const app = useApp();
const MANY = 2_000;
/** Four run alone before others are gathered, 500 at a time. */
const FEW = 4 + MANY / 500;

/** The database, and how many statements it has been asked. */
function counted() {
  const count = { statements: 0 };
  const database: Queryable = {
    query(statement, values) {
      count.statements += 1;
      return app.database.query(statement, values);
    },
  };
  return { count, database };
}

it('JWTs are looked at together when all are looked at again', async () => {
  const { id: userId } = await app.account();
  await app.prisma.revokedToken.create({ data: { jti: 'revoked' } });
  const { count, database } = counted();
  const { renew } = createJwtStrategy({
    database,
    clock: systemClock,
    identities: { admit: undefined, recordUse: () => undefined },
    keys: [],
    issuer: undefined,
    audience: undefined,
  });
  const principal = (user: string, jti: string | undefined): Principal => ({
    kind: 'jwt',
    userId: user,
    role: 'member',
    scopes: new Set(['posts:read']),
    clientId: 'c',
    credentialId: jti,
    rateLimit: undefined,
    expiresAtMs: undefined,
  });
  const kinds = [
    principal(userId, undefined),
    principal(userId, 'revoked'),
    principal(randomUUID(), undefined),
    principal(userId, 'good'),
  ];
  const all = Array.from({ length: MANY }, (_, n) => kinds[n % kinds.length] as Principal);
  const renewed = await Promise.all(all.map((one) => renew(one)));
  expect(renewed.map((one) => one?.credentialId ?? one?.userId)).toEqual(
    all.map((_, n) => [userId, undefined, undefined, 'good'][n % kinds.length]),
  );
  expect(count.statements).toBeLessThanOrEqual(FEW);
});

it('access tokens of OAuth are, too', async () => {
  const owner = await app.account();
  const { id: clientId } = await oauthClient(app, { owner, grants: ['client_credentials'] });
  const { count, database } = counted();
  const log = createLogger({ level: 'error', pretty: false });
  const services = { database, clock: systemClock, log, config: app.config };
  const keys = createKeyRing(services);
  const ownTokens = createOwnTokens(services, keys);
  const kinds = [`${clientId} `, `${randomUUID()} `, `${clientId} ${owner.id}`];
  const all = Array.from({ length: MANY }, (_, n) => `token-${n} ${kinds[n % kinds.length]} `);
  const found = await Promise.all(all.map((one) => ownTokens.standing(one)));
  // A token for a user whose authorization is not there has ended.
  const expected = [{ accountId: owner.id, ended: false }, undefined, { accountId: owner.id, ended: true }];
  expect(found.map((one) => one && { accountId: one.accountId, ended: one.invalid })).toEqual(
    all.map((_, n) => expected[n % kinds.length]),
  );
  expect(count.statements).toBeLessThanOrEqual(FEW);
});
