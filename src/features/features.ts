import { API_KEY_NAMES, apiKeyRevocation } from '../auth/api-keys.ts';
import { CORE_EXPORT_SECTIONS, type ExportSection } from '../auth/data-export.ts';
import type { Revocations } from '../auth/revocation.ts';
import { sessionRevocation } from '../auth/sessions.ts';
import { streamTokenRevocation } from '../auth/stream-tokens.ts';
import { ACCOUNT_CONTENT } from '../schema/account-content.ts';
import { accountPages } from './account-pages/feature.ts';
import type { Feature } from './feature.ts';
import { oauth } from './oauth/feature.ts';

/** The features of the product. To leave one out, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [oauth, accountPages];

/** What is revoked with an account. Sessions go first: nothing is issued through a revoked session. */
export const REVOCATIONS: Revocations = [
  sessionRevocation,
  streamTokenRevocation,
  ...FEATURES.flatMap(({ revocations }) => revocations),
  apiKeyRevocation,
];

/** What a new password revokes: what was issued after a login with the old one. */
export const PASSWORD_CHANGE_REVOCATIONS: Revocations = REVOCATIONS.filter(
  ({ onPasswordChange }) => onPasswordChange,
);

/** SQL of the ids and names of clients, for reports. */
export const CLIENT_NAMES: readonly string[] = [
  API_KEY_NAMES,
  ...FEATURES.flatMap(({ clientNames = [] }) => clientNames),
];

/** All that is stored about an account. */
export const EXPORT_SECTIONS: readonly ExportSection[] = [
  ...ACCOUNT_CONTENT.exportSections,
  ...CORE_EXPORT_SECTIONS,
  ...FEATURES.flatMap(({ exportSections }) => exportSections),
];
