import { createHmac } from 'node:crypto';
import type { Config } from '../../platform/config.ts';
import { parsePublicKeys } from '../../platform/public-keys.ts';
import { type Algorithm, type KnownKey, type StandingKeys, thumbprintOf } from './key-source.ts';
import { type RemoteKeysOptions, remoteKeys } from './remote-keys.ts';

/** Keys from the settings, which stay while the process lives. */
function configuredKeys(keys: readonly (KnownKey & { readonly algorithm: Algorithm })[]): StandingKeys {
  return {
    async *candidates(algorithm) {
      yield* keys.filter((known) => known.algorithm === algorithm);
    },
    knows: async (id) => keys.some((known) => known.id === id),
  };
}

/** A shared secret. A hash as id would help to guess it (RFC 7638 section 7); this HMAC helps no more than a token. */
function secretKey(secret: string): StandingKeys {
  const id = createHmac('sha256', secret).update('the id of this key').digest('base64url');
  return configuredKeys([{ id, algorithm: 'HS256', key: new TextEncoder().encode(secret) }]);
}

const publicKeys = (pem: string): StandingKeys =>
  configuredKeys(parsePublicKeys(pem).map((known) => ({ ...known, id: thumbprintOf(known.key) })));

/** The keys that the settings name. Those of the settings themselves come first: they need no fetch. */
export function keySources(
  { secret, publicKey, jwksUrl }: Config['jwt'],
  services: Omit<RemoteKeysOptions, 'url'>,
): StandingKeys[] {
  return [
    ...(secret === undefined ? [] : [secretKey(secret)]),
    ...(publicKey === undefined ? [] : [publicKeys(publicKey)]),
    ...(jwksUrl === undefined ? [] : [remoteKeys({ url: jwksUrl, ...services })]),
  ];
}
