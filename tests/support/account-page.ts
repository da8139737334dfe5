import type { TestApp } from './app.ts';
import { gqlAs } from './credentials/session.ts';
import { dataOf } from './rejection.ts';

const ORIGIN = 'http://127.0.0.1:4000';

/** The account page of an app, as a browser with a cookie meets it. */
export const accountPage = (app: TestApp) => ({
  open: (cookie: string, query = '', headers: Record<string, string> = {}) =>
    app.fetch(`/account${query}`, { headers: { cookie, ...headers } }),
  /** Sends a form of the page. */
  send: (
    cookie: string,
    fields: Record<string, string> | [string, string][],
    headers: Record<string, string> = {},
  ) =>
    app.fetch('/account', {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie,
        origin: ORIGIN,
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        'sec-fetch-dest': 'document',
        ...headers,
      },
      body: new URLSearchParams(fields),
    }),
  /** What the API says of a part of the account. */
  listed: async (cookie: string, list: string) =>
    dataOf(await gqlAs(app, cookie, `{ viewer { ${list} } }`)).viewer,
});

/** The problem that a page tells. */
export const alertIn = (page: string): string | undefined => /role="alert">([^<]*)</.exec(page)?.[1];
