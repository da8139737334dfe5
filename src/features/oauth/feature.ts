import type { Feature } from '../feature.ts';
import { clientRevocation, grantRevocation, oauthExportSections } from './grants.ts';
import { expiredRecords } from './records.ts';
import { oldSigningKeys } from './signing-keys.ts';

export const oauth: Feature = {
  revocations: [grantRevocation, clientRevocation],
  exportSections: oauthExportSections,
  clientNames: 'SELECT c.id::text AS id, c.name FROM oauth_clients c',
  jobs: ({ environment }) => [expiredRecords, oldSigningKeys(environment === 'production')],
  server: async () => (await import('./server.ts')).createOAuthServer,
  fields: async () => (await import('./grant-fields.ts')).defineGrantFields,
  commands: async () => (await import('./commands.ts')).defineOAuthCommands,
};
