import type { KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, vi } from 'vitest';
import { type App, createApp } from '../../../src/app/create-app.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { ORIGIN, type TestApp } from '../app.ts';
import { type SteppedClock, steppedClock } from '../time/stepped-clock.ts';
import { holdTimers } from '../time/timers.ts';
import { type KeyPair, signToken } from './tokens.ts';

/** A key as its issuer publishes it. */
export const jwk = (
  { publicKey }: { readonly publicKey: KeyObject },
  kid: string | undefined,
  more: object = {},
) => ({
  ...publicKey.export({ format: 'jwk' }),
  ...(kid === undefined ? {} : { kid }),
  use: 'sig',
  ...more,
});

export type SendKeys = (response: ServerResponse, keys: readonly object[]) => void;

/** As an issuer should. */
export const asKeySet: SendKeys = (response, keys) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
};

/** A server that publishes keys. */
export interface Issuer {
  readonly url: string;
  published: readonly object[];
  sendKeys: SendKeys;
  /** How often it was asked. */
  asked: number;
}

/** Starts an issuer for the tests of a file. */
export function useIssuer(): Issuer {
  const server = createServer((_request, response) => {
    issuer.asked += 1;
    issuer.sendKeys(response, issuer.published);
  });
  let url = '';
  const issuer: Issuer = {
    get url() {
      return url;
    },
    published: [],
    sendKeys: asKeySet,
    asked: 0,
  };
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return issuer;
}

/** An instance that has fetched nothing yet, and on which time passes when a test says so. */
export interface Relying extends Pick<TestApp, 'fetch' | 'logged'> {
  readonly clock: SteppedClock;
  /** Lets the time pass in which the keys have to arrive, for the newest fetch. */
  readonly endFetch: () => void;
  readonly app: App;
  /** The status of a query with a token. */
  status(token: string): Promise<number>;
}

/** How long a fetch of keys may take. */
const FETCH_LIMIT_MS = 2_000;

/** Runs a test on such an instance. The issuer publishes these keys, and answers as it should. */
export async function relyingOn(
  { config, database }: TestApp,
  issuer: Issuer,
  keys: readonly object[],
  work: (on: Relying) => Promise<void>,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  Object.assign(issuer, { published: keys, sendKeys: asKeySet, asked: 0 });
  const clock = steppedClock(Date.now());
  // Whoever reads the time of day past the clock is led astray as well.
  const timeOfDay = vi.spyOn(Date, 'now').mockImplementation(clock.now);
  const timers = holdTimers(FETCH_LIMIT_MS);
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    pretty: false,
    destination: { write: (line) => void logged.push(line) },
  });
  const { jwt } = loadConfig({ JWT_JWKS_URL: issuer.url, ...settings });
  const relying = { ...config, jwt, credentialRecheckMs: 50 };
  const app = createApp({ config: relying, database, log, clock });
  const fetch = (path: string, init?: RequestInit) => app.fetch(new Request(new URL(path, ORIGIN), init));
  const status = async (token: string) =>
    (
      await fetch(`/graphql?query=${encodeURIComponent('{ posts(limit: 1) { id } }')}`, {
        headers: { authorization: `Bearer ${token}` },
      })
    ).status;
  try {
    await work({ clock, endFetch: () => timers.fire(FETCH_LIMIT_MS), logged, app, fetch, status });
  } finally {
    timeOfDay.mockRestore();
    await app.close();
    timers.release();
  }
}

/** A token of this key that outlives every test. */
export const lastingToken = (sub: string, { privateKey }: KeyPair, kid?: string): Promise<string> =>
  signToken(sub, {
    algorithm: privateKey.asymmetricKeyType === 'rsa' ? 'RS256' : 'ES256',
    key: privateKey,
    header: kid === undefined ? {} : { kid },
    claims: { exp: Math.floor(Date.now() / 1000) + 10_000_000 },
  });
