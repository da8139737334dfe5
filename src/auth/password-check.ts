import { createHash } from 'node:crypto';
import { emailKey } from './account/store.ts';
import { hashPassword, unmatchableHash, verifyPassword } from './password.ts';

/** Limits concurrent work. `enter` throws if the queue is full; every successful `enter` needs a `leave`. */
export interface WorkLimiter {
  enter(): Promise<void> | undefined;
  leave(): void;
}

/** Counts failures by name. */
export interface FailureCounter {
  /** Counts a failure. Throws if there were too many. */
  failure(name: string): Promise<void>;
  /** Takes back an attempt that did not fail. */
  forgive(name: string): Promise<void>;
}

/**
 * Password work. Each hash takes tens of milliseconds and 19 MiB, so it goes through a concurrency limiter.
 */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Whether the password matches. Without a hash it does the same work and returns false. */
  matches(password: string, hash: string | null): Promise<boolean>;
  /**
   * Runs a password check as one attempt. It is counted against each name beforehand, so that concurrent
   * attempts cannot slip through, and taken back on success. Throws what the counter and the limiter throw.
   */
  attempt<T>(names: readonly string[], check: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** The name for failed sign-ins to an account, known or not. It does not reveal the e-mail. */
export function accountFailures(email: string): string {
  return `account:${createHash('sha256').update(emailKey(email)).digest('base64url')}`;
}

export function createPasswords(limiter: WorkLimiter, failures: FailureCounter): Passwords {
  const dummy = unmatchableHash();

  async function gated<T>(work: () => Promise<T>): Promise<T> {
    await limiter.enter();
    try {
      return await work();
    } finally {
      limiter.leave();
    }
  }

  return {
    hash: (password) => gated(() => hashPassword(password)),
    matches: async (password, hash) =>
      (await gated(() => verifyPassword(password, hash ?? dummy))) && hash !== null,
    async attempt(names, check) {
      for (const name of names) await failures.failure(name);
      let failed = false;
      try {
        const result = await check();
        failed = result === undefined;
        return result;
      } finally {
        // A check that throws tells an attacker nothing, so it is not a failure.
        if (!failed) for (const name of names) await failures.forgive(name);
      }
    },
  };
}
