import { hash, hkdfSync } from 'node:crypto';
import { decrypt, encrypt } from '../../platform/aes-gcm.ts';
import { deriveKey } from '../../platform/sealing.ts';

/** A key and its account. */
export interface KeyOwner {
  readonly userId: string;
  readonly key: string;
}

/** What is stored of a key. */
export function hashKey({ key }: KeyOwner): Buffer {
  return hash('sha256', key, 'buffer');
}

/** Encrypts stored responses. A response may contain a secret that is shown once, such as a new API key. */
export interface ResponseSeal {
  seal(owner: KeyOwner, body: string): Buffer;
  /** @throws {Error} if the response was encrypted under a secret that the service does not have, or was altered */
  unseal(owner: KeyOwner, sealed: Buffer): string;
}

const KEY_BYTES = 32;

/** Derives the encryption key. Without `pepper`, the key is that of version 1.0.0, which only depends on the Idempotency-Key. */
function encryptionKey({ userId, key }: KeyOwner, pepper: Uint8Array = Buffer.alloc(0)): Uint8Array {
  const salt = Buffer.concat([pepper, Buffer.from(userId)]);
  return new Uint8Array(hkdfSync('sha256', key, salt, 'idempotency response', KEY_BYTES));
}

/**
 * Encrypts under the secret of the service and the Idempotency-Key, which is not stored: neither a copy of the database with
 * a guessed key nor the secret alone reveals a response. Responses under `previousSecret` and of version 1.0.0 stay readable.
 */
export function createResponseSeal(secret: string, previousSecret: string | undefined): ResponseSeal {
  const pepperOf = (of: string) => deriveKey(of, 'idempotency responses');
  const pepper = pepperOf(secret);
  const older = [...(previousSecret === undefined ? [] : [pepperOf(previousSecret)]), undefined];
  const open = (owner: KeyOwner, sealed: Buffer, under: Uint8Array | undefined): string | undefined => {
    try {
      return decrypt(encryptionKey(owner, under), sealed).toString();
    } catch {
      // The authentication tag does not fit (NIST SP 800-38D section 7.2): another key may.
      return undefined;
    }
  };
  return {
    seal: (owner, body) => encrypt(encryptionKey(owner, pepper), Buffer.from(body)),
    unseal(owner, sealed) {
      for (const under of [pepper, ...older]) {
        const body = open(owner, sealed, under);
        if (body !== undefined) return body;
      }
      throw new Error(
        'a stored response cannot be decrypted: SECRET_KEY has changed, so set SECRET_KEY_PREVIOUS to its former value',
      );
    },
  };
}
