import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { violations } from '../support/processes/axe.ts';
import { useDevelopmentService } from '../support/processes/development-service.ts';

/** Browsers report that they are missing. */
const MISSING = ['/nothing', '/example/nothing'];
const PATHS = ['/', ...MISSING];

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
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
    });
  });

  it('lead from the start page to GraphiQL and back', async () => {
    const page = await open(1280, 'light');
    await page.goto(`${started.service.origin}/${token()}`);
    await page.getByRole('link', { name: 'GraphiQL' }).click();
    await page.waitForURL(`${started.service.origin}/graphql${token()}`);
    await page.getByRole('link', { name: 'start page' }).click();
    await page.waitForURL(`${started.service.origin}/${token()}`);
  });

  it('show a first call that a click selects, and that works when copied and pasted', async () => {
    const page = await open(1280, 'light');
    await page.goto(`${started.service.origin}/${token()}`);
    await page.getByText('curl -s').click();
    const selected = await page.evaluate<string>('getSelection().toString()');
    const { stdout } = await promisify(execFile)('bash', ['-c', selected]);
    expect(JSON.parse(stdout).data.posts).toHaveLength(3);
  });

  it('ask no other host for anything, and report no error', () => {
    expect(started.profiles.strayRequests).toEqual([]);
    expect(failures).toEqual([]);
  });
});
