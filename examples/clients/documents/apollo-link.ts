import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import {
  generatePersistedQueryIdsAtRuntime,
  generatePersistedQueryIdsFromManifest,
} from '@apollo/persisted-query-lists';

/** Otherwise, Apollo sends the text where the service does not know the id. */
const noText = { retry: () => false };

/** Sends ids, which it finds in the manifest by the name of the operation. */
export const idsOfManifest = new PersistedQueryLink({
  ...generatePersistedQueryIdsFromManifest({
    loadManifest: async () => (await import('./generated/apollo.json', { with: { type: 'json' } })).default,
  }),
  ...noText,
});

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Sends ids, which it computes as the tool does: a page needs no manifest. */
export const computedIds = new PersistedQueryLink({
  ...generatePersistedQueryIdsAtRuntime({ sha256 }),
  ...noText,
});
