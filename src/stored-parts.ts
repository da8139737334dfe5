import { PARTS, type StoredPart } from './auth/account/stored-parts.ts';
import { FEATURES } from './features.ts';
import { ACCOUNT_CONTENT } from './modules/account-content.ts';

/** All that is stored about an account. */
export const STORED: readonly StoredPart[] = [
  ...ACCOUNT_CONTENT.stored,
  ...PARTS,
  ...FEATURES.flatMap(({ stored }) => stored),
];
