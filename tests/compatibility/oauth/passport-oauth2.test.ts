import { once } from 'node:events';
import express from 'express';
import session from 'express-session';
import { Passport } from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { API_SCOPES, describeOAuthClient, type Tokens } from '../support/oauth-row.ts';
import { worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

const port = await freePort();
const origin = `http://127.0.0.1:${port}`;
const redirectUri = `${origin}/callback`;

describeOAuthClient({
  name: 'passport-oauth2',
  version: packageVersion('passport-oauth2'),
  checks: { signIn: worksWith('`pkce: true` and `state: true`') },
  redirectUri,
  async createDriver({ issuer, application }) {
    const passport = new Passport();
    const strategy = new OAuth2Strategy(
      {
        authorizationURL: `${issuer}/oauth/authorize`,
        tokenURL: `${issuer}/oauth/token`,
        clientID: application.id,
        clientSecret: application.secret,
        callbackURL: redirectUri,
        scope: API_SCOPES,
        pkce: true,
        state: true,
      },
      (accessToken: string, refreshToken: string, _profile: object, done: OAuth2Strategy.VerifyCallback) =>
        done(null, { accessToken, refreshToken }),
    );
    passport.use('content-graph', strategy);
    const server = express()
      .use(session({ secret: 'a secret of the suite', resave: false, saveUninitialized: false }))
      .get('/sign-in', passport.authenticate('content-graph'))
      .get('/callback', passport.authenticate('content-graph', { session: false }), (request, response) => {
        response.json(request.user);
      })
      .listen(port, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return {
      async signIn(visit) {
        const sent = await fetch(`${origin}/sign-in`, { redirect: 'manual' });
        const back = await visit(new URL(sent.headers.get('location') ?? ''));
        const cookie = sent.headers.getSetCookie()[0]?.split(';')[0] ?? '';
        const response = await fetch(back, { headers: { cookie } });
        if (!response.ok) throw new Error(await response.text());
        return (await response.json()) as Tokens;
      },
    };
  },
});
