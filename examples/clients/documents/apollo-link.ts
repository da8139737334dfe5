import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import {
  generatePersistedQueryIdsAtRuntime,
  generatePersistedQueryIdsFromManifest,
} from '@apollo/persisted-query-lists';

/** By default, Apollo sends the document if the id is unknown. */
const idsOnly = { retry: () => false };

/** Sends the ids that the manifest has for the names of operations. */
export const idsOfManifest = new PersistedQueryLink({
  ...generatePersistedQueryIdsFromManifest({
    loadManifest: async () => (await import('./generated/apollo.json', { with: { type: 'json' } })).default,
  }),
  ...idsOnly,
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Computes the ids as the tool does, so that a page needs no manifest. */
export const computedIds = new PersistedQueryLink({
  ...generatePersistedQueryIdsAtRuntime({ sha256 }),
  ...idsOnly,
});
