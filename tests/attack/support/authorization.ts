import type { Page } from 'puppeteer-core';
import { authorizeUrl, PKCE } from '../../support/credentials/oauth.ts';
import { deployment } from './attacker.ts';
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
