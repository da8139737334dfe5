import type { Page } from 'puppeteer-core';
import { authorizeUrl, exchangeCode, PKCE } from '../../support/credentials/oauth.ts';
import { deployment, service } from './attacker.ts';
import { NAMES } from './front.ts';

const { origin, reader, sitesPort } = deployment;

const CALLBACK = `https://${NAMES.application}:${sitesPort}/callback`;
const OPTIONS = { redirectUri: CALLBACK, scope: 'posts:read' };

/** Where the application sends its user to begin an authorization, and have them asked whatever they allowed before. */
export function authorization({ at = origin, state = 'the-state' } = {}): string {
  return (
    at +
    authorizeUrl(reader, { ...OPTIONS, challenge: PKCE().challenge, extra: { state, prompt: 'consent' } })
  );
}

/** The same, and what comes of the code that it ends with. */
export function ownAuthorization() {
  const { challenge, verifier } = PKCE();
  return {
    url: origin + authorizeUrl(reader, { ...OPTIONS, challenge }),
    async tokenFor(code: string): Promise<string> {
      const { status, body } = await exchangeCode(
        service,
        reader,
        { code, verifier },
        { redirect_uri: CALLBACK },
      );
      if (status !== 200) throw new Error(`the code was answered with ${status}`);
      return body.access_token;
    },
  };
}

/** What a page of the service says; empty for any other. It waits for nothing: the next page may be of somebody else. */
export async function textOf(page: Page): Promise<string> {
  const main = await page.$('main');
  return (await main?.evaluate(({ innerText }) => innerText)) ?? '';
}

/** Clicks the button of that name. Browsers do not lay out a tab behind another: no place in it can be clicked. */
export async function click(page: Page, button: string): Promise<void> {
  await page.bringToFront();
  const found = await page.waitForSelector(`button::-p-text(${button})`);
  await found?.click();
}

export async function signInAt(page: Page, email: string, password: string): Promise<void> {
  await page.bringToFront();
  await page.waitForSelector('input[name=password]');
  await page.type('input[name=email]', email);
  await page.type('input[name=password]', password);
  await click(page, 'Sign in');
}

/** What a user is shown, or with what they are back at the application. */
export type Shown =
  | { readonly at: 'sign-in' }
  | { readonly at: 'consent'; readonly of: string | undefined }
  | { readonly at: 'application'; readonly code: string | null; readonly error: string | null }
  | { readonly at: 'elsewhere'; readonly text: string };

export async function shownAt(page: Page): Promise<Shown> {
  const url = new URL(page.url());
  if (url.origin + url.pathname === CALLBACK)
    return { at: 'application', code: url.searchParams.get('code'), error: url.searchParams.get('error') };
  const text = await textOf(page);
  if (text.startsWith('Sign in')) return { at: 'sign-in' };
  if (text.startsWith('Allow ')) return { at: 'consent', of: /\S+@example\.com/.exec(text)?.[0] };
  return { at: 'elsewhere', text };
}
