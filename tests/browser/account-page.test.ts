import { readFile } from 'node:fs/promises';
import { expect, it, onTestFinished } from 'vitest';
import { violations } from '../support/processes/axe.ts';
import { openBrowser } from '../support/processes/browser.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { admin, startServer } from '../support/processes/server.ts';

const PASSWORD = 'a password of the browser';
const NEXT = 'another password of the browser';
const EMAIL = 'grace.hopper@example.com';

/** A service with one user, and a browser at the account page. */
async function start(javaScriptEnabled = true) {
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir);
  await admin(['user', 'create', '--name', 'Grace', '--email', EMAIL, '--password', PASSWORD], dataDir);
  const browser = await openBrowser(server.origin, { javaScriptEnabled });
  onTestFinished(() => browser.close());
  const page = await browser.context.newPage();
  const url = `${server.origin}/account`;
  await page.goto(url);
  /** Presses Enter in the form that has the focus, and waits for the page that follows. */
  const enter = () => Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
  const signIn = async () => {
    await page.locator('#email').fill(EMAIL);
    await page.locator('#password').fill(PASSWORD);
    await enter();
  };
  return { page, url, enter, signIn };
}

it.each([
  [390, 'dark'],
  [1280, 'light'],
] as const)(
  'the account page is used by the keyboard, at a width of %i, %s, and is accessible in each of its states',
  async (width, scheme) => {
    const { page, enter, signIn } = await start();
    await page.setViewportSize({ width, height: 844 });
    await page.emulateMedia({ colorScheme: scheme });
    const look = async (state: string) => {
      expect(await violations(page), state).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth'), state).toBe(width);
    };
    /** Opens a part by the keyboard, and goes to its first field. */
    const unfold = async (summary: string) => {
      await page.locator('summary', { hasText: summary }).focus();
      await page.keyboard.press('Enter');
      await page.keyboard.press('Tab');
    };
    await look('sign-in');
    await signIn();
    await look('account');
    for (const summary of ['Change the profile', 'Change the password', 'Download your data'])
      await unfold(summary);
    await look('forms');

    await unfold('Create an API key');
    await page.keyboard.type('Script');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Space');
    await page.locator('#key-password').focus();
    await page.keyboard.type('wrong');
    await enter();
    expect(await page.title()).toContain('error');
    expect(await page.getByRole('alert').textContent()).toBe('The password is wrong.');
    await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe('key-password');
    expect(await page.locator('#key-name').inputValue()).toBe('Script');
    expect(await page.locator('input[name=scope]').first().isChecked()).toBe(true);
    await look('refused');
    await page.locator('#key-password').focus();
    await page.keyboard.type(PASSWORD);
    await enter();
    expect(await page.locator('#key').inputValue()).toMatch(/^cga_/);
    await look('new-key');
    await page.locator('a.button').focus();
    await enter();
    expect(await page.locator('.rows').last().textContent()).toContain('Script');

    await unfold('Revoke everything');
    await page.keyboard.type(PASSWORD);
    await look('unfolded');
    await enter();
    expect(await page.getByRole('status').textContent()).toContain('Everything is revoked');
    await look('revoked');
  },
);

it('the account page needs no scripts', async () => {
  const { page, url, enter, signIn } = await start(false);
  await signIn();
  await page.locator('summary', { hasText: 'Change the profile' }).click();
  await page.locator('#handle').fill('amazing_grace');
  await page.locator('#bio').fill('First line\nSecond line');
  await page.locator('#avatar-url').fill('https://example.com/grace.png');
  await page.locator('#name').fill('Rear Admiral Grace');
  await enter();
  expect(await page.locator('h1').textContent()).toBe('Rear Admiral Grace');
  expect(await page.getByRole('status').textContent()).toBe('Your profile is changed.');

  // Opens the form.
  await page.goto(new URL('/.well-known/change-password', url).href);
  await page.locator('#old-password').fill(PASSWORD);
  await page.locator('#new-password').fill(NEXT);
  await page.locator('#again').fill(NEXT);
  await enter();
  expect(await page.getByRole('status').textContent()).toContain('Your password is changed.');

  await page.locator('summary', { hasText: 'Download your data' }).click();
  await page.locator('#data-password').fill(NEXT);
  const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')]);
  expect(download.suggestedFilename()).toBe('account.json');
  const { account } = JSON.parse(await readFile(await download.path(), 'utf8'));
  expect(account).toMatchObject({
    name: 'Rear Admiral Grace',
    handle: 'amazing_grace',
    bio: 'First line\nSecond line',
    avatarUrl: 'https://example.com/grace.png',
    email: EMAIL,
  });

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  await page.goto(url);
  expect(await page.title()).toContain('Sign in');
});
