import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { createIdentityProvider } from '../../../../examples/identity-provider.ts';
import { loadConfig } from '../../../../src/platform/config/config.ts';
import { useApp } from '../../../support/app.ts';
import { changeLink } from '../../../support/credentials/identities.ts';
import { graphqlPost } from '../../../support/graphql.ts';
import { secondInstance } from '../../../support/second-instance.ts';

const app = useApp();

/** Starts the identity provider of the guide. */
async function startProvider(): Promise<string> {
  let listener: RequestListener = (_request, response) => void response.end();
  const server = createServer((request, response) => listener(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  listener = createIdentityProvider(issuer).callback();
  return issuer;
}

it('Users of oidc-provider with subjects of its own get accounts, and take over no others', async () => {
  const issuer = await startProvider();
  const { jwks_uri: jwksUrl } = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
  const { jwt } = loadConfig({
    JWT_JWKS_URL: jwksUrl,
    JWT_ISSUER: issuer,
    JWT_AUDIENCE: 'https://api.example.com',
    JWT_ACCOUNTS: 'create',
  });
  const service = secondInstance(app, { config: { ...app.config, jwt } });
  /** Signs a user in, and returns the account of the token, or the status. */
  const accountOf = async (user: string) => {
    const body = new URLSearchParams({
      client_id: 'application',
      grant_type: 'urn:example:sign-in',
      user,
    });
    const { access_token: key } = await (await fetch(`${issuer}/token`, { method: 'POST', body })).json();
    const response = await service.fetch('/graphql', graphqlPost('{ viewer { id name email } }', { key }));
    return response.status === 200 ? (await response.json()).data.viewer : response.status;
  };
  expect(await accountOf('margaret')).toEqual({
    id: expect.any(String),
    name: 'Margaret',
    email: 'margaret@example.com',
  });
  expect(await accountOf('mallory')).toBe(401);
  expect(await accountOf('a stranger')).toBe(401);
  const { id, email } = await app.account({ name: 'Somebody else' });
  await changeLink(app, 'link', email, 'mallory', issuer);
  expect(await accountOf('mallory')).toMatchObject({ id, name: 'Somebody else' });
});
