import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, type BrowserContextOptions, chromium } from 'playwright-core';

const PATHS = [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser'];

/** A browser that reaches one origin and nothing else. */
export interface Browser {
  readonly context: BrowserContext;
  /** The folder in which it keeps what it stores, until `close`. */
  readonly profile: string;
  /** The addresses beyond the origin that pages asked for, all of which were rejected. */
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

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
];

/** Twice Playwright's own: a busy machine is slow, not wrong. */
const PATIENCE_MS = 120_000;

/** Rejects, and lists, what is asked of other origins. `data:` and `blob:` never leave the browser and pass. */
async function confine(
  context: BrowserContext,
  reached: ReadonlySet<string>,
  stray: string[],
): Promise<void> {
  context.setDefaultTimeout(PATIENCE_MS);
  await context.route('**/*', (route) => {
    const url = new URL(route.request().url());
    if (reached.has(url.origin) || url.protocol === 'data:' || url.protocol === 'blob:')
      return route.continue();
    stray.push(url.href);
    return route.abort();
  });
}

/** A target that a test has closed or crashed runs no callbacks. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof Error && /has been closed|Target crashed/.test(error.message))) throw error;
}

/** Closes a context. A callback of a route that still runs would otherwise fail outside of its test. */
async function closeContext(context: BrowserContext): Promise<void> {
  const behavior = { behavior: 'ignoreErrors' } as const;
  await Promise.all(
    [context, ...context.pages()].map((routed) => routed.unrouteAll(behavior).catch(ignoreGone)),
  );
  await context.close();
}

/** Starts Chromium with a profile of its own. */
export async function openBrowser(
  origin: string,
  {
    others = [],
    javaScriptEnabled = true,
    backForwardCache = false,
    ignoreHTTPSErrors = false,
  }: BrowserOptions = {},
): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'content-graph-browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath(),
    timeout: PATIENCE_MS,
    viewport: { width: 1400, height: 900 },
    javaScriptEnabled,
    ignoreHTTPSErrors,
    ignoreDefaultArgs: backForwardCache ? ['--disable-back-forward-cache'] : [],
    args: ARGUMENTS,
  });
  const strayRequests: string[] = [];
  await confine(context, new Set([origin, ...others]), strayRequests);
  return {
    context,
    profile,
    strayRequests,
    async close() {
      await closeContext(context);
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** A browser with many profiles, all of which reach one origin and nothing else. */
export interface Profiles {
  readonly strayRequests: readonly string[];
  /** A profile that has stored nothing yet. */
  open(options?: BrowserContextOptions): Promise<BrowserContext>;
  close(): Promise<void>;
}

export async function openProfiles(origin: string): Promise<Profiles> {
  const browser = await chromium.launch({
    executablePath: executablePath(),
    args: ARGUMENTS,
    timeout: PATIENCE_MS,
  });
  const strayRequests: string[] = [];
  return {
    strayRequests,
    async open(options = {}) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
      await confine(context, new Set([origin]), strayRequests);
      return context;
    },
    async close() {
      await Promise.all(browser.contexts().map(closeContext));
      await browser.close();
    },
  };
}
