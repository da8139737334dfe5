import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';

const PATHS = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** A browser that reaches one origin and nothing else. */
export interface Browser {
  readonly context: BrowserContext;
  /** The addresses beyond the origin that pages asked for, all of which were refused. */
  readonly strayRequests: readonly string[];
  close(): Promise<void>;
}

function executablePath(): string {
  const found = PATHS.find((path) => path !== undefined && existsSync(path));
  if (found === undefined)
    throw new Error(
      'These tests need Chromium: install it ("apt-get install -y chromium") or name it in CHROMIUM_PATH.',
    );
  return found;
}

export interface BrowserOptions {
  /** Origins that it reaches besides. */
  readonly others?: readonly string[];
  readonly javaScriptEnabled?: boolean;
  /** Whether pages are kept for going back to them. */
  readonly backForwardCache?: boolean;
  /** Whether it takes a certificate that nobody has signed. */
  readonly ignoreHTTPSErrors?: boolean;
}

/** Starts Chromium with a profile of its own. `data:` and `blob:` never leave the browser and pass. */
export async function openBrowser(
  origin: string,
  {
    others = [],
    javaScriptEnabled = true,
    backForwardCache = false,
    ignoreHTTPSErrors = false,
  }: BrowserOptions = {},
): Promise<Browser> {
  const reached = new Set([origin, ...others]);
  const profile = await mkdtemp(join(tmpdir(), 'content-graph-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath(),
    viewport: { width: 1400, height: 900 },
    javaScriptEnabled,
    ignoreHTTPSErrors,
    ignoreDefaultArgs: backForwardCache ? ['--disable-back-forward-cache'] : [],
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  });
  const strayRequests: string[] = [];
  await context.route('**/*', (route) => {
    const url = new URL(route.request().url());
    if (reached.has(url.origin) || url.protocol === 'data:' || url.protocol === 'blob:')
      return route.continue();
    strayRequests.push(url.href);
    return route.abort();
  });
  return {
    context,
    strayRequests,
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
