import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { login } from '../../support/credentials/session.ts';
import { deployment, fetchFrom } from '../support/attacker.ts';
import { authorization, signInAt, textOf } from '../support/authorization.ts';
import { BROWSERS } from '../support/browsers.ts';
import { PASSWORD } from '../support/deployment.ts';
import { NAMES } from '../support/front.ts';
import { answered, useBrowser, useSites } from '../support/visitor.ts';

const { crowdedOrigin, grace } = deployment;
const sites = useSites();

/** More than any bucket holds by default, and than an address may have sign-ins under way. */
const MANY = 130;

describe.each(BROWSERS)('a page of another site with many images in %s', (name) => {
  const browser = useBrowser(name);

  it.each([
    ['another site', NAMES.evil],
    ['a sibling domain', NAMES.sibling],
  ])('takes no sign-in from those who share its address: on %s (contract section 5)', async (_what, host) => {
    const grown = await browser.visit();
    const signingIn = await grown.page(authorization({ at: crowdedOrigin }));
    await signingIn.waitForSelector('input[name=password]');
    const other = await browser.visit();
    const mark = randomUUID();
    const page = await other.page(sites().show(host, '/', '<h1>Kittens</h1>'));
    const images = [`/graphql?query={__typename}&mark=${mark}`, `/login?mark=${mark}`];
    await page.evaluate(
      async (sources, tokens, many) => {
        const show = (src: string) => {
          const image = new Image();
          const over = new Promise((resolve) => image.addEventListener('error', resolve));
          image.src = src;
          return over;
        };
        const body = new URLSearchParams({ grant_type: 'client_credentials' });
        for (let count = 0; count < many; count += 1)
          await Promise.all([
            ...sources.map((src) => show(`${src}&${count}`)),
            fetch(tokens, { method: 'POST', mode: 'no-cors', body }),
          ]);
      },
      [...images.map((path) => crowdedOrigin + path), `${authorization({ at: crowdedOrigin })}&mark=${mark}`],
      `${crowdedOrigin}/oauth/token?mark=${mark}`,
      MANY,
    );
    await answered(mark, 4 * MANY);

    await signInAt(signingIn, grace.email, PASSWORD);
    await expect.poll(() => textOf(signingIn)).toContain('Signed in as Grace');
    const program = { fetch: (path: string, init?: RequestInit) => fetchFrom(crowdedOrigin, path, init) };
    expect((await login(program, { email: grace.email, password: PASSWORD })).status).toBe(200);
  });
});
