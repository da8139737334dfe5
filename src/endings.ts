import type { Endings } from './auth/account/endings.ts';
import { keysEnd } from './auth/api-key/store.ts';
import { sessionsEnd } from './auth/session/store.ts';
import { streamTokensEnd } from './auth/stream-token/store.ts';
import { FEATURES } from './features.ts';

/** What ends with an account. Sessions go first: nothing is issued through one that has ended. */
export const ENDINGS: Endings = [
  sessionsEnd,
  streamTokensEnd,
  ...FEATURES.flatMap(({ endings }) => endings),
  keysEnd,
];

/** What ends with a password: whatever was signed in to with it. */
export const ENDINGS_OF_PASSWORD: Endings = ENDINGS.filter(({ ofPassword }) => ofPassword);
