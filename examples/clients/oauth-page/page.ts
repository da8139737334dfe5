import { createClient } from 'content-graph-client';
import { createOAuth } from './oauth.ts';

const { issuer = '', clientId = '' } = document.documentElement.dataset;
const oauth = createOAuth({
  issuer,
  clientId,
  redirectUri: `${location.origin}/`,
  scope: 'posts:read users:read',
});
const client = createClient({
  url: `${issuer}/graphql`,
  // The token authenticates, so no cookie is sent.
  credentials: 'omit',
  headers: async () => ({ authorization: `Bearer ${await oauth.token()}` }),
});

const element = (id: string) => document.getElementById(id) as HTMLElement;
const showError = (error: unknown) =>
  element('problem').replaceChildren(error instanceof Error ? error.message : String(error));

async function show(): Promise<void> {
  const isSignedIn = (await oauth.token()) !== undefined;
  element('sign-in').hidden = isSignedIn;
  element('sign-out').hidden = !isSignedIn;
  if (!isSignedIn) {
    element('who').textContent = 'Nobody is signed in.';
    return;
  }
  const { data } = await client.query<{ viewer: { name: string } }, object>('{ viewer { name } }', {});
  element('who').textContent = `Signed in as ${data.viewer.name}.`;
}

element('sign-in').addEventListener('click', () => void oauth.signIn().catch(showError));
element('sign-out').addEventListener('click', () => void oauth.signOut().then(show).catch(showError));
await oauth.finish().catch(showError);
await show().catch(showError);
