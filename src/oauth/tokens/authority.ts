import type { Config } from '../../platform/config.ts';
import type { Sealer } from '../../platform/sealing.ts';
import { createOwnTokens } from './access-token.ts';
import { createKeyRing, type KeyRingOptions } from './key-ring.ts';
import { sealerOf } from './signing-keys.ts';

/**
 * What makes the service a token issuer. The secret is read or created when first needed: a service that does not use
 * OAuth needs none.
 */
export function createAuthority({
  config,
  ...services
}: Omit<KeyRingOptions, 'sealer'> & { readonly config: Config }) {
  let sealer: Sealer | undefined;
  const keys = createKeyRing({
    ...services,
    sealer() {
      sealer ??= sealerOf(config);
      return sealer;
    },
  });
  return { keys, ownTokens: createOwnTokens({ ...services, keys, issuer: config.publicUrl }) };
}
