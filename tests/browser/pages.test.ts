import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { violations } from '../support/processes/axe.ts';
import { useDevelopmentService } from '../support/processes/development-service.ts';
import { picture } from '../support/processes/picture.ts';

/** Browsers report that they are missing. */
const MISSING = ['/docs/nothing', '/nothing', '/example/nothing'];
const PATHS = [
  '/',
  '/docs/',
  '/docs/readme',
  '/docs/api',
  '/docs/?q=idempotency+key',
  '/docs/examples/',
  '/docs/examples/retry.ts',
  ...MISSING,
];

describe('the pages of development', () => {
  const started = useDevelopmentService();
  const failures: string[] = [];
  const token = () => `?token=${started.service.pageToken}`;

  async function open(width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
    const profile = await started.profiles.open({ viewport: { width, height: 844 }, colorScheme });
    onTestFinished(() => profile.close());
    const page = await profile.newPage();
    page.on('console', (message) => {
      const { pathname } = new URL(message.location().url || started.service.origin);
      if (!MISSING.includes(pathname)) failures.push(message.text());
    });
    return page;
  }

  describe.each([
    [390, 'light'],
    [1280, 'dark'],
  ] as const)('at a width of %i pixels, %s', (width, scheme) => {
    it.each(PATHS)('are accessible and fit: %s', async (path) => {
      const page = await open(width, scheme);
      await page.goto(started.service.origin + path);
      await picture(page, `${width}-${scheme}${path.replaceAll(/\W+/g, '-')}`);
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    });
  });

  it('lead from the start page through the docs to a section', async () => {
    const page = await open(1280, 'light');
    await page.goto(`${started.service.origin}/${token()}`);
    await page.getByRole('main').getByRole('link', { name: 'Docs' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Contributing' }).click();
    await page.getByRole('main').getByRole('link', { name: 'docs/architecture.md' }).nth(1).click();
    await page.waitForURL(`${started.service.origin}/docs/architecture${token()}#allowed-imports`);
    await expect
      .poll(() => page.locator('#allowed-imports').evaluate((it) => it.getBoundingClientRect().top))
      .toBeLessThan(844);
    await page.getByRole('link', { name: 'Content Graph API' }).first().click();
    await page.waitForURL(`${started.service.origin}/${token()}`);
  });

  it('show a first call that works when copied and pasted', async () => {
    const page = await open(1280, 'light');
    await page.goto(`${started.service.origin}/${token()}`);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    const { stdout } = await promisify(execFile)('bash', ['-c', copied]);
    expect(JSON.parse(stdout).data.posts).toHaveLength(3);
  });

  it('ask no other host for anything, and report no error', () => {
    expect(started.profiles.strayRequests).toEqual([]);
    expect(failures).toEqual([]);
  });
});
