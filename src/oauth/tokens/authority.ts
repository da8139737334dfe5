import type { Clock } from '../../platform/clock.ts';
import type { Config } from '../../platform/config.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import { memoised } from '../../platform/remember.ts';
import { createSealer } from '../../platform/sealing.ts';
import { secretKeyOf } from '../../platform/secret-key.ts';
import { createOwnTokens, type OwnTokens } from './access-token.ts';
import { createKeyRing, type KeyRing } from './key-ring.ts';
import { SIGNING_KEYS } from './signing-keys.ts';

/** What makes the service a token issuer. */
export interface Authority {
  readonly keys: KeyRing;
  readonly ownTokens: OwnTokens;
}

export interface AuthorityOptions {
  readonly config: Config;
  readonly database: Queryable;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The secret is read or created when first needed: a service that does not use OAuth needs none. */
export function createAuthority({ config, database, clock, log }: AuthorityOptions): Authority {
  const secret = memoised(() => secretKeyOf(config));
  const sealer = memoised(() => createSealer(secret(), SIGNING_KEYS));
  const keys = createKeyRing({ database, sealer, clock, log });
  return {
    keys,
    ownTokens: createOwnTokens({ database, keys, clock, issuer: config.publicUrl }),
  };
}
