// Takes the pictures of README: `npm run screenshots`. Needs Chromium.
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startService } from '../src/app/server.ts';
import { loadConfig } from '../src/platform/config/config.ts';
import { createLogger } from '../src/platform/log/log.ts';
import { readArguments } from '../src/platform/process.ts';
import { openProfiles } from '../tests/support/processes/browser.ts';
import { buildExample } from './example-package.ts';

readArguments(
  `npm run screenshots

Builds the example, starts a service with demo data, and takes the pictures of README into docs/images. Needs Chromium.
`,
  {},
);
const IMAGES = join(import.meta.dirname, '../docs/images');
const SIZE = { width: 1280, height: 720 };
interface Subject {
  readonly name: string;
  readonly path: string;
  /** Brings the page into the state to be shown. */
  readonly prepare: (page: Page, password: string) => Promise<void>;
}

const SUBJECTS: readonly Subject[] = [
  {
    name: 'graphiql',
    path: '/graphql',
    // The first example shows no ids and no times: the picture changes only if something else has changed.
    async prepare(page) {
      await page.locator('.graphiql-execute-button').click();
      await page.locator('.result-window').getByText('"comments"').first().waitFor();
      // Away from the button, which has a tooltip.
      await page.locator('.graphiql-editor-tools').hover();
    },
  },
  {
    name: 'example',
    path: '/example/',
    async prepare(page, password) {
      await page.getByLabel('E-mail').fill('ada@example.com');
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.locator('[data-live=live]').waitFor();
      await page.getByRole('heading', { name: 'On loops' }).waitFor();
      await page.mouse.move(0, 0);
    },
  },
];

buildExample();
const folder = await mkdtemp(join(tmpdir(), 'content-graph-screenshots-'));
const config = loadConfig({ NODE_ENV: 'development', PORT: '0', DATA_DIR: folder });
const service = await startService(config, createLogger({ level: 'error', pretty: false }));
const profiles = await openProfiles(service.origin);
try {
  await mkdir(IMAGES, { recursive: true });
  for (const { name, path, prepare } of SUBJECTS) {
    for (const colorScheme of ['light', 'dark'] as const) {
      const profile = await profiles.open({ viewport: SIZE, colorScheme, reducedMotion: 'reduce' });
      const page = await profile.newPage();
      await page.goto(`${service.origin}${path}?token=${service.pageToken}`);
      await prepare(page, service.demo?.password ?? '');
      await page.evaluate('document.fonts.ready');
      const file = join(IMAGES, colorScheme === 'light' ? `${name}.png` : `${name}-dark.png`);
      await page.screenshot({ path: file, animations: 'disabled' });
      process.stdout.write(`${file}: ${Math.ceil((await stat(file)).size / 1000)} kB\n`);
      await profile.close();
    }
  }
} finally {
  await profiles.close();
  await service.stop();
  await rm(folder, { recursive: true, force: true });
}
