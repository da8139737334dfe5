import { readFile } from 'node:fs/promises';
import pg from 'pg';
import type { Browser, BrowserContext, Page } from 'puppeteer-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { deployment, fetchFrom } from './attacker.ts';
import { type BrowserName, openBrowser, PATIENCE_MS } from './browsers.ts';
import { PASSWORD } from './deployment.ts';
import { openSites, type Sites } from './sites.ts';

/** Who visits with a profile that has stored nothing yet. */
export class Visitor {
  readonly context: BrowserContext;

  constructor(context: BrowserContext) {
    this.context = context;
  }

  async page(url?: string): Promise<Page> {
    const page = await this.context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    if (url !== undefined) await page.goto(url);
    return page;
  }

  /** Logs in as a page of the service does, and stays at it. */
  async signIn({ email }: { readonly email: string }, origin = deployment.origin): Promise<Page> {
    const page = await this.page(`${origin}/login`);
    const status = await page.evaluate(
      async (body) => {
        const headers = { 'content-type': 'application/json' };
        return (await fetch('/login', { method: 'POST', headers, body })).status;
      },
      JSON.stringify({ email, password: PASSWORD }),
    );
    expect(status).toBe(200);
    return page;
  }

  /** The values of the service's own session cookie, without those that others have planted. */
  async sessions(origin = deployment.origin): Promise<string[]> {
    const { hostname } = new URL(origin);
    const cookies = await this.context.cookies();
    return cookies
      .filter(({ name, domain }) => name === 'session_id' && domain === hostname)
      .map(({ value }) => value);
  }

  /** Who is signed in here, if the service is asked: an e-mail. */
  async who(origin = deployment.origin): Promise<string | undefined> {
    const [session] = await this.sessions(origin);
    const cookie = session === undefined ? '' : `session_id=${session}`;
    const response = await fetchFrom(origin, '/login', { headers: { cookie } });
    const { user } = (await response.json()) as { readonly user: { readonly email: string } | null };
    return user?.email;
  }
}

/** A browser for a block of tests. */
interface UsedBrowser {
  /** Opens a profile that lasts until the end of the test. */
  visit(): Promise<Visitor>;
}

export function useBrowser(name: BrowserName): UsedBrowser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await openBrowser(name, deployment.certificate);
  });
  afterAll(() => browser?.close());
  return {
    async visit() {
      if (browser === undefined) throw new Error('the browser is opened before the tests');
      const visitor = new Visitor(await browser.createBrowserContext());
      onTestFinished(() => visitor.context.close());
      return visitor;
    },
  };
}

/** The sites of others for the tests of a file. */
export function useSites(): () => Sites {
  let sites: Sites | undefined;
  beforeAll(async () => {
    sites = await openSites(deployment);
  });
  afterAll(() => sites?.close());
  return () => {
    if (sites === undefined) throw new Error('the sites are opened before the tests');
    return sites;
  };
}

/** A request as nginx has seen and answered it. */
export interface Seen {
  readonly method: string;
  readonly uri: string;
  readonly status: number;
  readonly host: string;
  readonly origin: string;
  readonly site: string;
  readonly dest: string;
  readonly purpose: string;
  readonly cookie: string;
}

/** The requests that have been answered, of those whose address has the mark. */
export async function seen(mark: string): Promise<Seen[]> {
  const lines = (await readFile(deployment.accessLog, 'latin1')).split('\n').slice(0, -1);
  return lines.map((line): Seen => JSON.parse(line)).filter(({ uri }) => uri.includes(mark));
}

/** Waits until as many have been. */
export async function responded(mark: string, count = 1): Promise<Seen[]> {
  await expect.poll(async () => (await seen(mark)).length).toBeGreaterThanOrEqual(count);
  return seen(mark);
}

/** What the service holds of what it could be made to do. */
export type Held = {
  readonly sessions: string;
  readonly posts: string;
  readonly streamTokens: string;
  readonly grants: string;
  readonly signIns: string;
};

/** It leaves out codes and tokens: clean-up deletes expired ones of earlier tests at any moment. */
export async function held(): Promise<Held> {
  const client = new pg.Client({ connectionString: deployment.databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<Held>(`
      SELECT (SELECT count(*) FROM public.sessions) AS sessions,
             (SELECT count(*) FROM public.posts) AS posts,
             (SELECT count(*) FROM public.stream_tokens) AS "streamTokens",
             (SELECT count(*) FROM public.oauth_grants) AS grants,
             (SELECT count(*) FROM public.oauth_records WHERE model = 'Interaction') AS "signIns"`);
    const [row] = rows;
    if (row === undefined) throw new Error('no row');
    return row;
  } finally {
    await client.end();
  }
}
