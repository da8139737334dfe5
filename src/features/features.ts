import { API_KEY_NAMES, keysEnd } from '../auth/api-keys.ts';
import { PARTS, type StoredPart } from '../auth/data-export.ts';
import type { Endings } from '../auth/revocation.ts';
import { sessionsEnd } from '../auth/sessions.ts';
import { streamTokensEnd } from '../auth/stream-tokens.ts';
import { ACCOUNT_CONTENT } from '../schema/account-content.ts';
import { accountPages } from './account-pages/feature.ts';
import type { Feature } from './feature.ts';
import { oauth } from './oauth/feature.ts';

/** The features of the product. To leave one out, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [oauth, accountPages];

/** What ends with an account. Sessions go first: nothing is issued through one that has ended. */
export const ENDINGS: Endings = [
  sessionsEnd,
  streamTokensEnd,
  ...FEATURES.flatMap(({ endings }) => endings),
  keysEnd,
];

/** What ends with a password: whatever was signed in to with it. */
export const ENDINGS_OF_PASSWORD: Endings = ENDINGS.filter(({ ofPassword }) => ofPassword);

/** SQL of the ids and names of clients, for reports. */
export const CLIENT_NAMES: readonly string[] = [
  API_KEY_NAMES,
  ...FEATURES.flatMap(({ clientNames = [] }) => clientNames),
];

/** All that is stored about an account. */
export const STORED: readonly StoredPart[] = [
  ...ACCOUNT_CONTENT.stored,
  ...PARTS,
  ...FEATURES.flatMap(({ stored }) => stored),
];
