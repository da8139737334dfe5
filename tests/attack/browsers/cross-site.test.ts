import { randomUUID } from 'node:crypto';
import type { Page } from 'puppeteer-core';
import { describe, expect, it } from 'vitest';
import { deployment } from '../support/attacker.ts';
import { BROWSERS } from '../support/browsers.ts';
import { PASSWORD } from '../support/deployment.ts';
import { NAMES } from '../support/front.ts';
import { held, responded, useBrowser, useSites } from '../support/visitor.ts';

const { ada, grace, origin } = deployment;
const sites = useSites();

const WRITE = 'mutation { createPost(title: "Forged", body: "By another site.") { id } }';
const WATCH = 'subscription { postCreated { id } }';
const MALLORY = { email: ada.email, password: PASSWORD };

/** What a request of another site tries, and what it carries as text, for which no preflight is asked. */
const ATTEMPTS: readonly (readonly [path: string, body: unknown])[] = [
  ['/logout', {}],
  ['/login', MALLORY],
  ['/graphql', { query: WRITE }],
  ['/graphql/stream-token', { query: WATCH }],
  ['/oauth/interaction/any/login', MALLORY],
  ['/oauth/interaction/any/allow', {}],
  ['/account', {}],
];

/** Where the attacker's page is: cookies know no ports, and SameSite no siblings. */
const PLACES = [
  ['another site', NAMES.evil],
  ['a sibling domain', NAMES.sibling],
  ['another port of the host', NAMES.service],
] as const;

const marked = (path: string, mark: string) => `${origin}${path}?mark=${mark}`;

interface Attempt {
  readonly to: string;
  readonly body: string;
}

const attempts = (mark: string): Attempt[] =>
  ATTEMPTS.map(([path, body]) => ({ to: marked(path, mark), body: JSON.stringify(body) }));

/** Runs in the page or in its service worker: one request after the other, each until it is answered or rejected. */
const WORKER = `
  oninstall = () => skipWaiting();
  onactivate = (event) => event.waitUntil(clients.claim());
  onmessage = async ({ data, source }) => {
    for (const { to, body } of data)
      await fetch(to, { method: 'POST', mode: 'no-cors', credentials: 'include', body }).catch(() => undefined);
    source.postMessage('done');
  };`;

/** Posts forms that say what JSON says (HTML, section 4.10.21.8), each to a frame, a window or the page itself. */
const postForms = (page: Page, forms: readonly (Attempt & { readonly target: string })[]) =>
  page.evaluate((list) => {
    for (const [at, { to, body, target }] of list.entries()) {
      const frame = document.createElement('iframe');
      frame.name = `frame${at}`;
      const form = document.createElement('form');
      Object.assign(form, { method: 'post', action: to, enctype: 'text/plain' });
      form.target = target === 'frame' ? frame.name : target;
      const input = document.createElement('input');
      // "name=value" is JSON with a member too many.
      input.name = `${body.slice(0, -1)}${body === '{}' ? '' : ','}"a":"`;
      input.value = '"}';
      form.append(input);
      document.body.append(frame, form);
      form.submit();
    }
  }, forms);

describe.each(BROWSERS)(
  'what a page of another origin has %s send with a session does nothing (contract: sessions)',
  (name) => {
    const browser = useBrowser(name);

    async function victim(host: string) {
      const grown = await browser.visit();
      await grown.signIn(grace);
      const before = { cookie: await grown.sessions(), held: await held() };
      const page = await grown.page(sites().show(host, '/', '<h1>Kittens</h1>'));
      return {
        page,
        async isAsBefore() {
          expect(await grown.sessions()).toEqual(before.cookie);
          expect(await grown.who()).toBe(grace.email);
          expect(await held()).toEqual(before.held);
        },
      };
    }

    it.each(PLACES)('by a script, an image or a beacon on %s', async (_place, host) => {
      const { page, isAsBefore } = await victim(host);
      const mark = randomUUID();
      const image = `${origin}/graphql?${new URLSearchParams({ query: WRITE, mark })}`;
      await page.evaluate(
        async (list, src) => {
          for (const { to, body } of list)
            for (const type of ['text/plain', 'application/json']) {
              const mode = type === 'text/plain' ? 'no-cors' : 'cors';
              const headers = { 'content-type': type };
              await fetch(to, { method: 'POST', mode, credentials: 'include', headers, body }).catch(
                () => undefined,
              );
            }
          const shown = new Image();
          const over = new Promise((resolve) => shown.addEventListener('error', resolve));
          shown.src = src;
          await over;
          for (const { to, body } of list) navigator.sendBeacon(to, body);
        },
        attempts(mark),
        image,
      );
      // Each as text, as the preflight of JSON, by the image and by a beacon.
      const requests = await responded(mark, 3 * ATTEMPTS.length + 1);
      const done = requests.filter(({ method }) => method !== 'OPTIONS');
      expect(done.filter(({ status }) => status < 400)).toEqual([]);
      await isAsBefore();
    });

    it.each(PLACES)('by a service worker of %s', async (_place, host) => {
      const { page, isAsBefore } = await victim(host);
      const mark = randomUUID();
      sites().show(host, '/worker.js', { body: WORKER, headers: { 'content-type': 'text/javascript' } });
      await page.evaluate(async (list) => {
        await navigator.serviceWorker.register('/worker.js');
        const { active } = await navigator.serviceWorker.ready;
        const over = new Promise((resolve) =>
          navigator.serviceWorker.addEventListener('message', resolve, { once: true }),
        );
        navigator.serviceWorker.startMessages();
        active?.postMessage(list);
        await over;
      }, attempts(mark));
      const requests = await responded(mark, ATTEMPTS.length);
      expect(requests.filter(({ status }) => status < 400)).toEqual([]);
      await isAsBefore();
    });

    it.each(PLACES)('by a form on %s', async (_place, host) => {
      const { page, isAsBefore } = await victim(host);
      const mark = randomUUID();
      const all = attempts(mark);
      const [logout, login, mutation] = all;
      const framed = all.map((attempt) => ({ ...attempt, target: 'frame' }));
      const opened = [logout, login, mutation].flatMap((attempt) =>
        attempt === undefined ? [] : [{ ...attempt, target: '_blank' }],
      );
      await postForms(page, [...framed, ...opened]);
      const count = framed.length + opened.length;
      await responded(mark, count);
      // The page itself goes last, and takes the frames with it.
      if (logout !== undefined) await postForms(page, [{ ...logout, target: '_self' }]);
      const requests = await responded(mark, count + 1);
      await isAsBefore();
      expect(requests.filter(({ status }) => status < 400)).toEqual([]);
    });
  },
);
