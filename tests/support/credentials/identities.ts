import { expect } from 'vitest';
import { adminCommand } from '../admin-command.ts';
import type { TestApp } from '../app.ts';
import { graphqlPost } from '../graphql.ts';
import { AUDIENCE, ISSUER, JWT_SECRET, signToken } from './tokens.ts';

/** Settings with which tokens choose their accounts. */
export const settingsFor = (accounts: 'existing' | 'link' | 'create'): Readonly<Record<string, string>> => ({
  JWT_SECRET,
  JWT_ISSUER: ISSUER,
  JWT_AUDIENCE: AUDIENCE,
  JWT_ACCOUNTS: accounts,
});

let subjects = 0;

/** A subject that no other test has, as Auth0 forms them. */
export function newSubject(): string {
  subjects += 1;
  return `auth0|${subjects}`;
}

/** The claims with which an issuer vouches for an email address. */
export const verified = (email: string): Record<string, unknown> => ({
  email,
  email_verified: true,
  name: 'Grace',
});

/** The response to a request with a token: the id of its account, or the status if there is none. */
export async function callerOf(
  { fetch }: Pick<TestApp, 'fetch'>,
  sub: string,
  claims: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<string | number> {
  const key = await signToken(sub, { claims });
  const response = await fetch('/graphql', graphqlPost('{ viewer { id } }', { key, headers }));
  return response.status === 200 ? (await response.json()).data.viewer.id : response.status;
}

/** Runs `user link` or `user unlink`. */
export const changeLink = (
  app: TestApp,
  change: 'link' | 'unlink',
  email: string,
  subject: string,
  issuer = ISSUER,
) => adminCommand(app, ['user', change, email, '--issuer', issuer, '--subject', subject]);

/** Marks the email address of an account as verified, which otherwise a link does. */
export const verifyEmail = (app: TestApp, id: string) =>
  app.prisma.user.update({ where: { id }, data: { emailVerifiedAt: new Date() }, select: { id: true } });

/** A link to set the password, as a path. */
export async function resetLink(app: TestApp, email: string): Promise<string> {
  const { json, failure } = await adminCommand(app, ['user', 'create-reset-link', email]);
  expect(failure).toBeUndefined();
  const { pathname, search } = new URL(json.link);
  return pathname + search;
}

/** Sends the form of a link, and returns the status. */
export async function followLink(app: TestApp, path: string, password: string): Promise<number> {
  const headers = { origin: 'null', 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'document' };
  const body = new URLSearchParams({ password, again: password });
  return (await app.fetch(path, { method: 'POST', headers, body })).status;
}
