import { createOAuth } from './oauth.ts';

const { issuer = '', clientId = '' } = document.documentElement.dataset;
const oauth = createOAuth({
  issuer,
  clientId,
  redirectUri: `${location.origin}/`,
  scope: 'posts:read users:read',
});

const element = (id: string) => document.getElementById(id) as HTMLElement;
const tell = (error: unknown) =>
  element('problem').replaceChildren(error instanceof Error ? error.message : String(error));

async function show(): Promise<void> {
  const token = await oauth.token();
  element('sign-in').hidden = token !== undefined;
  element('sign-out').hidden = token === undefined;
  if (token === undefined) {
    element('who').textContent = 'Nobody is signed in.';
    return;
  }
  const response = await fetch(`${issuer}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ viewer { name } }' }),
  });
  const { data, errors } = await response.json();
  if (errors !== undefined) throw new Error(errors[0].message);
  element('who').textContent = `Signed in as ${data.viewer.name}.`;
}

element('sign-in').addEventListener('click', () => void oauth.signIn().catch(tell));
element('sign-out').addEventListener('click', () => void oauth.signOut().then(show).catch(tell));
await oauth.finish().catch(tell);
await show().catch(tell);
