import { API_KEY_NAMES, apiKeyRevocation } from '../auth/api-keys.ts';
import { CORE_EXPORT_SECTIONS, type ExportSection } from '../auth/data-export.ts';
import type { Revocations } from '../auth/revocation.ts';
import { sessionRevocation } from '../auth/sessions.ts';
import { streamTokenRevocation } from '../auth/stream-tokens.ts';
import { ACCOUNT_CONTENT } from '../schema/account-content.ts';
import { accountPages } from './account-pages/feature.ts';
import type { Feature } from './feature.ts';
import { oauth } from './oauth/feature.ts';

/** To leave a feature out, delete its line and its folder. */
export const FEATURES: readonly Feature[] = [oauth, accountPages];

/** Sessions are revoked first, because nothing can be issued through a revoked session. */
export const REVOCATIONS: Revocations = [
  sessionRevocation,
  streamTokenRevocation,
  ...FEATURES.flatMap(({ revocations }) => revocations),
  apiKeyRevocation,
];

/** A new password revokes what was issued after a login with the old password. */
export const PASSWORD_CHANGE_REVOCATIONS: Revocations = REVOCATIONS.filter(
  ({ onPasswordChange }) => onPasswordChange,
);

export const CLIENT_NAMES: readonly string[] = [
  API_KEY_NAMES,
  ...FEATURES.flatMap(({ clientNames = [] }) => clientNames),
];

export const EXPORT_SECTIONS: readonly ExportSection[] = [
  ...ACCOUNT_CONTENT.exportSections,
  ...CORE_EXPORT_SECTIONS,
  ...FEATURES.flatMap(({ exportSections }) => exportSections),
];
