import { createHmac } from 'node:crypto';
import type { Config } from '../../platform/config.ts';
import { parsePublicKeys } from '../../platform/public-keys.ts';
import { ANONYMOUS_SCOPES } from '../scopes.ts';
import { type Algorithm, type KnownKey, type StandingKeys, thumbprintOf } from './key-source.ts';
import { type RemoteKeysOptions, remoteKeys } from './remote-keys.ts';

/** Keys from the settings, which stay while the process lives. */
function configuredKeys(
  keys: readonly (KnownKey & { readonly algorithm: Algorithm })[],
  defaultScopes: readonly string[] | undefined,
): StandingKeys {
  return {
    defaultScopes,
    async *candidates(algorithm) {
      yield* keys.filter((known) => known.algorithm === algorithm);
    },
    knows: async (id) => keys.some((known) => known.id === id),
  };
}

/** A shared secret. A hash as id would help to guess it (RFC 7638 section 7); this HMAC helps no more than a token. */
function secretKey(secret: string, defaultScopes: readonly string[] | undefined): StandingKeys {
  const id = createHmac('sha256', secret).update('the id of this key').digest('base64url');
  return configuredKeys([{ id, algorithm: 'HS256', key: new TextEncoder().encode(secret) }], defaultScopes);
}

const publicKeys = (pem: string, defaultScopes: readonly string[] | undefined): StandingKeys =>
  configuredKeys(
    parsePublicKeys(pem).map((known) => ({ ...known, id: thumbprintOf(known.key) })),
    defaultScopes,
  );

/** The keys that the settings name. Those of the settings themselves come first: they need no fetch. */
export function keySources(
  { secret, publicKey, jwksUrl, defaultScopes }: Config['jwt'],
  services: Omit<RemoteKeysOptions, 'url' | 'defaultScopes'>,
): StandingKeys[] {
  // An external issuer does not know the scopes of this service, so its tokens read only what is public.
  const remote = () =>
    jwksUrl === undefined
      ? []
      : [remoteKeys({ url: jwksUrl, defaultScopes: defaultScopes ?? ANONYMOUS_SCOPES, ...services })];
  return [
    ...(secret === undefined ? [] : [secretKey(secret, defaultScopes)]),
    ...(publicKey === undefined ? [] : [publicKeys(publicKey, defaultScopes)]),
    ...remote(),
  ];
}
