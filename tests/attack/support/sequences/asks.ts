import { randomBytes } from 'node:crypto';
import type { Page } from 'puppeteer-core';
import { basic, postForm } from '../../../support/credentials/oauth.ts';
import { deployment, service } from '../attacker.ts';
import { PASSWORD } from '../deployment.ts';

const { players, reader } = deployment;

/** What the users' passwords are now: sequences change them, each from where the last one left off. */
const passwords = new Map(players.map(({ email }) => [email, PASSWORD]));
export const passwordOf = (email: string) => passwords.get(email) ?? PASSWORD;

/** The mutation that gives somebody another password, which is theirs from now on. */
export function changePassword(email: string): string {
  const [current, next] = [passwordOf(email), randomBytes(16).toString('hex')];
  passwords.set(email, next);
  return `mutation { changePassword(currentPassword: "${current}", newPassword: "${next}") }`;
}

/** What a script of the service's own page gets. */
export const post = (page: Page, path: string, body: string) =>
  page.evaluate(
    async (to, text) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(to, { method: 'POST', headers, body: text });
      return { status: response.status, text: await response.text() };
    },
    path,
    body,
  );

export const whoIsAt = (page: Page): Promise<string | undefined> =>
  page.evaluate(async () => {
    const { user } = await (await fetch('/login')).json();
    return user?.email;
  });

/** Whether an access token works, as the application may ask. */
export async function isActive(token: string): Promise<boolean> {
  return (await postForm(service, '/oauth/introspect', { token }, basic(reader))).body.active;
}
