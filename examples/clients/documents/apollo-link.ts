import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import {
  generatePersistedQueryIdsAtRuntime,
  generatePersistedQueryIdsFromManifest,
} from '@apollo/persisted-query-lists';

/** Sends ids, which it finds in the manifest by the name of the operation. */
export const idsOfManifest = new PersistedQueryLink(
  generatePersistedQueryIdsFromManifest({
    loadManifest: () => import('./generated/apollo.json', { with: { type: 'json' } }).then((m) => m.default),
  }),
);

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Sends ids, which it computes as the manifest's tool has. The page needs no manifest. */
export const computedIds = new PersistedQueryLink(generatePersistedQueryIdsAtRuntime({ sha256 }));
