import { accountPages } from './account-pages/account-pages.ts';
import type { Feature } from './feature.ts';
import { oauth } from './oauth/oauth.ts';

/** The features of the product. To leave one out, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [oauth, accountPages];
