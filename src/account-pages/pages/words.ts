import Bowser from 'bowser';
import { isScope, type Role, scopeWords } from '../../auth/scopes.ts';
import { type Html, html } from '../../http/pages/html.ts';

/** A client may say anything. */
const MAX_SHOWN = 80;

const DATES = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** An instant. The page runs no script, so it cannot know the time zone of its reader. */
export const timeOf = (instant: string): Html =>
  html`<time datetime="${instant}">${DATES.format(new Date(instant))} UTC</time>`;

/** The browser of a session, by the User-Agent of its login. */
export function browserOf(userAgent: string | null): string {
  if (userAgent === null || userAgent === '') return 'Unknown browser';
  const parsed = Bowser.getParser(userAgent);
  const [browser, system] = [parsed.getBrowserName(), parsed.getOSName()];
  if (browser === '') return userAgent.length > MAX_SHOWN ? `${userAgent.slice(0, MAX_SHOWN)}…` : userAgent;
  return system === '' ? browser : `${browser} on ${system}`;
}

/** What a scope allows. One that the product has no more allows nothing. */
export const wordsOf = (scope: string, role: Role): string =>
  isScope(scope) ? scopeWords(scope, role) : scope;
