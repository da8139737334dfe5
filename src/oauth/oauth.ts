import type { Feature } from '../feature.ts';
import { clientsEnd, grantsEnd, oauthParts } from './records/grants.ts';
import { expiredRecords } from './records/records.ts';
import { oldSigningKeys } from './tokens/signing-keys.ts';

/** The OAuth authorization server. */
export const oauth: Feature = {
  endings: [grantsEnd, clientsEnd],
  stored: oauthParts,
  clientNames: 'SELECT c.id::text AS id, c.name FROM oauth_clients c',
  jobs: ({ environment }) => [expiredRecords, oldSigningKeys(environment === 'production')],
  server: async () => (await import('./server/server.ts')).createServer,
  fields: async () => (await import('./grant-fields.ts')).defineGrantFields,
  async commands() {
    const { oauthClientCommands } = await import('./commands/clients.ts');
    const { signingKeyCommands } = await import('./commands/signing-keys.ts');
    return [oauthClientCommands, signingKeyCommands];
  },
};
