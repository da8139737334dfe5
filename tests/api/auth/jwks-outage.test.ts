import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import {
  asKeySet,
  jwk,
  lastingToken,
  type Relying,
  relyingOn,
  type SendKeys,
  useIssuer,
} from '../../support/credentials/issuer.ts';
import { newEcPair, newRsaPair } from '../../support/credentials/tokens.ts';
import { linesOf } from '../../support/log-lines.ts';

const app = useApp();
const issuer = useIssuer();
const [A, B] = [newEcPair(), newEcPair()];
const MINUTE_MS = 60_000;
const CHUNK = Buffer.alloc(65_536, ' ');
let bytesTaken = 0;
/** Ends the fetch of the instance under test as its limit of time does. */
let endFetch = () => {};

const endless = async (response: ServerResponse): Promise<void> => {
  const ended = once(response, 'close');
  while (!response.closed) {
    bytesTaken += CHUNK.byteLength;
    if (!response.write(CHUNK)) await Promise.race([once(response, 'drain'), ended]);
  }
};

const FAILURES: Record<string, SendKeys> = {
  'answers 500': (response) => void response.writeHead(500).end('{"keys":[]}'),
  'answers with a page': (response) => void response.end('<html>Please wait</html>'),
  'answers with other JSON': (response) => void response.end('{"error":"later"}'),
  'points elsewhere': (response) => void response.writeHead(302, { location: issuer.url }).end(),
  'closes the connection': (response) => void response.destroy(),
  'never answers': () => endFetch(),
  'sends its answer byte by byte': async (response) => {
    for (let sent = 0; sent < 10; sent += 1) {
      response.write(' ');
      await new Promise(setImmediate);
    }
    endFetch();
  },
  'sends without end': (response) => void endless(response),
  'sends a byte more than 1 MiB': (response) => void response.end('{"keys":[]}'.padEnd(1_048_577)),
  'has far too many keys': (response) =>
    asKeySet(
      response,
      Array.from({ length: 501 }, () => ({ kty: 'EC' })),
    ),
};

const withTokens = (work: (on: Relying, a: string, b: string) => Promise<void>) => async () => {
  const { id } = await app.account();
  const [a, b] = [await lastingToken(id, A, 'A'), await lastingToken(id, B, 'B')];
  await relyingOn(app, issuer, [jwk(A, 'A')], (on) => {
    ({ endFetch } = on);
    return work(on, a, b);
  });
};

describe.each(Object.entries(FAILURES))('an issuer that %s', (_what, failure) => {
  it(
    'is asked once and not with each request; its known keys go on for an hour',
    withTokens(async ({ clock, logged, status }, a, b) => {
      expect(await status(a)).toBe(200);
      issuer.sendKeys = failure;
      clock.advance(11 * MINUTE_MS);
      for (let request = 0; request < 10; request += 1) expect(await status(a)).toBe(200);
      // Whether a key is new cannot be told.
      for (let request = 0; request < 10; request += 1) expect(await status(b)).toBe(503);
      expect(issuer.asked).toBe(2);
      clock.advance(48 * MINUTE_MS);
      expect(await status(a)).toBe(200);
      clock.advance(MINUTE_MS);
      for (let request = 0; request < 10; request += 1) expect(await status(a)).toBe(503);
      const asked = issuer.asked;
      expect(asked).toBeLessThanOrEqual(4);
      issuer.sendKeys = asKeySet;
      clock.advance(1_000);
      expect([await status(a), await status(b), issuer.asked]).toEqual([200, 401, asked + 1]);
      expect(linesOf(logged, 'jwks.fetch_failed').length).toBeGreaterThan(0);
      expect(linesOf(logged, 'jwks.recovered')).toHaveLength(1);
    }),
  );
});

it(
  'of a response without end no more is read than a key set may have',
  withTokens(async ({ status }, a) => {
    bytesTaken = 0;
    issuer.sendKeys = FAILURES['sends without end'] ?? asKeySet;
    expect(await status(a)).toBe(503);
    // With what is under way in sockets.
    expect(bytesTaken).toBeLessThan(16 * 1_048_576);
  }),
);

it(
  'requests with known keys do not wait for a set that is fetched before the old one is too old',
  withTokens(async ({ clock, status }, a, b) => {
    expect(await status(a)).toBe(200);
    const held: ServerResponse[] = [];
    issuer.sendKeys = (response) => void held.push(response);
    clock.advance(8 * MINUTE_MS);
    for (let request = 0; request < 10; request += 1) expect(await status(a)).toBe(200);
    await expect.poll(() => held.length).toBe(1);
    for (const response of held) asKeySet(response, [jwk(A, 'A'), jwk(B, 'B')]);
    // Without another fetch: the set is younger than the half minute.
    await expect.poll(() => status(b)).toBe(200);
    expect(issuer.asked).toBe(2);
  }),
);

it(
  'an instance stops while it waits for keys',
  withTokens(async ({ app: instance, status }, a) => {
    issuer.sendKeys = () => undefined;
    const responded = status(a);
    await expect.poll(() => issuer.asked).toBe(1);
    await instance.close();
    endFetch();
    expect(await responded).toBe(503);
  }),
);

it('what is no usable key in a set is passed over', async () => {
  const { id } = await app.account();
  const [encrypting, own, small] = [newRsaPair(), newEcPair(), newRsaPair(1024)];
  const unusable = [
    null,
    'A',
    [],
    {},
    { kty: 'EC', crv: 'P-256', kid: 'A' },
    { kty: 'RSA', n: '', e: '', kid: 'A' },
    { kty: 'oct', k: 'c2VjcmV0', kid: 'A', alg: 'HS256' },
    jwk(small, 'A'),
    jwk(encrypting, 'encrypting', { use: 'enc' }),
    jwk(encrypting, 'encrypting', { key_ops: ['encrypt'] }),
    jwk(encrypting, 'encrypting', { alg: 'PS256' }),
    { ...own.privateKey.export({ format: 'jwk' }), kid: 'own' },
  ] as object[];
  const tokens = await Promise.all([
    lastingToken(id, A, 'A'),
    lastingToken(id, A),
    lastingToken(id, encrypting, 'encrypting'),
    lastingToken(id, own, 'own'),
  ]);
  await relyingOn(app, issuer, [...unusable, jwk(A, 'A')], async ({ status }) => {
    const statuses: number[] = [];
    for (const token of tokens) statuses.push(await status(token));
    expect(statuses).toEqual([200, 200, 401, 401]);
  });
});

it('a token without kid is tried with twenty keys at most; one with kid has its own', async () => {
  const { id } = await app.account();
  const pairs = Array.from({ length: 30 }, newEcPair);
  const keys = pairs.map((pair, place) => jwk(pair, `${place}`));
  await relyingOn(app, issuer, keys, async ({ status }) => {
    const statusOf = async (place: number, kid?: string) =>
      status(await lastingToken(id, pairs[place] ?? A, kid));
    expect([await statusOf(19), await statusOf(20), await statusOf(29, '29')]).toEqual([200, 401, 200]);
  });
});
