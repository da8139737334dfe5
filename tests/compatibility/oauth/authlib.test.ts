import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort, start, until } from '../../../scripts/cluster/processes.ts';
import { describeOAuthClient, OPENID_SCOPES } from '../support/oauth-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { programVersion } from '../support/versions.ts';

/** Only ends a start that hangs. */
const LIMIT_MS = 120_000;
/** Debian's Python has the packages of Debian. Another Python on the PATH may not have them. */
const PYTHON = '/usr/bin/python3';

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const redirectUri = `${origin}/callback`;

interface TokenResponse {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly userinfo?: { readonly name: string };
}

async function readTokens(response: Response) {
  if (!response.ok) throw new Error(await response.text());
  const { access_token, refresh_token, userinfo } = (await response.json()) as TokenResponse;
  return { accessToken: access_token, refreshToken: refresh_token, userName: String(userinfo?.name) };
}

describeOAuthClient({
  name: 'Authlib with Flask',
  version: programVersion(PYTHON, '-c', 'import authlib; print(authlib.__version__)'),
  checks: {
    discovery: WORKS,
    signIn: worksWith("`code_challenge_method: 'S256'` in `client_kwargs`"),
    openid: WORKS,
    refresh: WORKS,
  },
  redirectUri,
  async createDriver({ issuer, application }) {
    const service = start({
      file: PYTHON,
      args: ['-B', join(import.meta.dirname, 'authlib/application.py')],
      cwd: import.meta.dirname,
      env: {
        ISSUER: issuer,
        CLIENT_ID: application.id,
        CLIENT_SECRET: application.secret,
        CALLBACK: redirectUri,
        SCOPES: OPENID_SCOPES,
        PORT: String(port),
      },
    });
    onTestFinished(async () => void (await service.stop()));
    const discover = async () => {
      const response = await fetch(`${origin}/metadata`);
      if (!response.ok) throw new Error(await response.text());
      return true;
    };
    await until('the application', discover, { service, signal: AbortSignal.timeout(LIMIT_MS) });
    return {
      discover,
      async signIn(visit) {
        const sent = await fetch(`${origin}/sign-in`, { redirect: 'manual' });
        const back = await visit(new URL(sent.headers.get('location') ?? ''));
        const cookie = sent.headers.getSetCookie()[0]?.split(';')[0] ?? '';
        return readTokens(await fetch(back, { headers: { cookie } }));
      },
      refresh: async (refreshToken) =>
        readTokens(await fetch(`${origin}/refresh?${new URLSearchParams({ token: refreshToken })}`)),
    };
  },
});
