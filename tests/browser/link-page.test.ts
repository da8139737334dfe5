import type { Page } from 'playwright-core';
import { expect, it, onTestFinished } from 'vitest';
import { violations } from '../support/processes/axe.ts';
import { openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { admin, type ServerProcess, startServer } from '../support/processes/server.ts';

const CHOSEN = 'a password of the browser';
const EMAIL = 'grace.hopper@example.com';

async function visit(server: ServerProcess, width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
  const browser = await openBrowser(server.origin, { javaScriptEnabled: true });
  onTestFinished(() => browser.close());
  const page = await browser.context.newPage();
  await page.setViewportSize({ width, height: 844 });
  await page.emulateMedia({ colorScheme });
  return page;
}

/** Its address is of the port that it has been given. */
function at(server: ServerProcess, link: string): string {
  const { pathname, search } = new URL(link);
  return `${server.origin}${pathname}${search}`;
}

it.each([
  [390, 'light'],
  [390, 'dark'],
  [1280, 'light'],
] as const)(
  'the page of a link is used by the keyboard alone, at a width of %i, %s, and is accessible in each of its states',
  async (width, scheme) => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const invited = await admin(['user', 'invite', EMAIL, '--name', 'Grace Hopper'], dataDir);
    const page = await visit(server, width, scheme);
    const look = async (state: string) => {
      expect(await violations(page), state).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), state).toBe(width);
    };
    await page.goto(at(server, invited.json.link));
    await expect
      .poll(() => page.evaluate(() => document.activeElement?.getAttribute('name')))
      .toBe('password');
    await look('invite');
    const type = async (password: string, again: string) => {
      await page.locator('#new-password').focus();
      await page.keyboard.type(password);
      await page.keyboard.press('Tab');
      await page.keyboard.type(again);
      await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
    };
    await type('qwerty123456', 'qwerty123456');
    expect(await page.getByRole('alert').textContent()).toMatch(/commonly used password/);
    await look('refused');
    await type(CHOSEN, CHOSEN);
    expect(await page.title()).toContain('Your password is set');
    await look('set');
    await page.goto(at(server, invited.json.link));
    expect(await page.title()).toContain('not valid');
    await look('void');
    const reset = await admin(['user', 'create-reset-link', EMAIL], dataDir);
    await page.goto(at(server, reset.json.link));
    await look('reset');
    const login = await fetch(`${server.origin}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: EMAIL, password: CHOSEN }),
    });
    expect(login.status).toBe(200);
  },
);
