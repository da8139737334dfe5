import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { ORIGIN, useApp } from '../../support/app.ts';
import { type KeyPair, newEcPair, newRsaPair, signToken } from '../../support/credentials/tokens.ts';
import { holdTimersInTest } from '../../support/time/timers.ts';

/** An issuer that publishes keys, and counts who asks for them. */
let server: Server;
let url = '';
let asked = 0;
let healthy = true;
let published: object[] = [];

const jwk = ({ publicKey }: KeyPair, kid: string, alg: string) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  alg,
  use: 'sig',
});

const rsa = newRsaPair();
const ec = newEcPair();

beforeAll(async () => {
  server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(healthy ? 200 : 500, { 'content-type': 'application/json' });
    response.end(healthy ? JSON.stringify({ keys: published }) : 'down');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
});
afterAll(() => void server.close());

const app = useApp();

/** An instance of the service that has fetched nothing yet. */
async function withFreshInstance(work: (call: (token: string) => Promise<Response>) => Promise<void>) {
  const log = createLogger({ level: 'silent', pretty: false });
  const config = { ...app.config, jwt: loadConfig({ JWT_JWKS_URL: url }).jwt };
  // No fetch is too late, however slow the machine is.
  holdTimersInTest(2_000);
  const instance = createApp({ config, database: app.database, log });
  asked = 0;
  healthy = true;
  published = [jwk(rsa, 'rsa', 'RS256'), jwk(ec, 'ec', 'ES256')];
  try {
    await work((token) =>
      instance.fetch(
        new Request(`${ORIGIN}/graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: '{"query":"{ posts(limit: 1) { id } }"}',
        }),
      ),
    );
  } finally {
    await instance.close();
  }
}

const byRsa = (sub: string, kid: string | undefined, pair = rsa) =>
  signToken(sub, {
    algorithm: 'RS256',
    key: pair.privateKey,
    header: kid === undefined ? {} : { kid },
  });

describe('JWT_JWKS_URL', () => {
  it('is asked once for any number of tokens, of either algorithm', () =>
    withFreshInstance(async (call) => {
      const { id } = await app.account();
      const tokens = await Promise.all([
        byRsa(id, 'rsa'),
        byRsa(id, undefined),
        signToken(id, { algorithm: 'ES256', key: ec.privateKey, header: { kid: 'ec' } }),
      ]);
      const responses = await Promise.all([...tokens, ...tokens].map(call));
      for (const token of tokens) responses.push(await call(token));
      expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
      expect(asked).toBe(1);
    }));

  it('a kid that nobody knows is rejected, and does not make the service ask for each', () =>
    withFreshInstance(async (call) => {
      const { id } = await app.account();
      expect((await call(await byRsa(id, 'rsa'))).status).toBe(200);
      for (const kid of ['a', 'b', 'c', 'd', 'e'])
        expect((await call(await byRsa(id, kid))).status).toBe(401);
      expect(asked).toBeLessThanOrEqual(2);
    }));

  it('tries each key that a token without kid may be signed with', () =>
    withFreshInstance(async (call) => {
      const other = newRsaPair();
      published = [jwk(other, 'other', 'RS256'), jwk(rsa, 'rsa', 'RS256')];
      const { id } = await app.account();
      expect((await call(await byRsa(id, undefined))).status).toBe(200);
      expect((await call(await byRsa(id, undefined, newRsaPair()))).status).toBe(401);
    }));

  it('a key that is too short for its algorithm signs nothing, and stands in nobody’s way', () =>
    withFreshInstance(async (call) => {
      const { id } = await app.account();
      const weak = newRsaPair(1024);
      published = [jwk(weak, 'weak', 'RS256'), ...published];
      const [header] = (await byRsa(id, 'weak')).split('.');
      expect((await call(`${header}.e30.AAAA`)).status).toBe(401);
      expect((await call(await byRsa(id, 'rsa'))).status).toBe(200);
      expect((await call(await byRsa(id, undefined))).status).toBe(200);
    }));

  it('a key is for its own algorithm: its kid in an HS256 token is worth nothing', () =>
    withFreshInstance(async (call) => {
      const { id } = await app.account();
      const secret = new TextEncoder().encode(rsa.pem);
      const token = await signToken(id, { algorithm: 'HS256', key: secret, header: { kid: 'rsa' } });
      expect((await call(token)).status).toBe(401);
      expect(asked).toBe(0);
    }));

  it('that does not answer is 503 with Retry-After, and back on its feet needs no restart', () =>
    withFreshInstance(async (call) => {
      healthy = false;
      const { id } = await app.account();
      const token = await byRsa(id, 'rsa');
      const startMs = performance.now();
      const result = await call(token);
      expect(result.status).toBe(503);
      expect(result.headers.get('retry-after')).toBe('1');
      expect(await result.json()).toMatchObject({
        errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }],
      });
      // An outage is not asked about with every request.
      await Promise.all([call(token), call(token)]);
      expect(asked).toBeLessThanOrEqual(1 + Math.floor((performance.now() - startMs) / 1_000));
      healthy = true;
      await expect.poll(async () => (await call(token)).status).toBe(200);
    }));
});
