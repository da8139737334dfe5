import { createHash } from 'node:crypto';
import { emailKey } from './account/store.ts';
import { hashPassword, unmatchableHash, verifyPassword } from './password.ts';

/** Lets so much work in at a time. `enter` throws where too much waits already; every pass ends with `leave`. */
export interface WorkLimiter {
  enter(): Promise<void> | undefined;
  leave(): void;
}

/** Counts failures by name. */
export interface FailureCounter {
  /** Counts one. Throws where there were too many. */
  failure(name: string): Promise<void>;
  /** Takes one back that turned out to be none. */
  forgive(name: string): Promise<void>;
}

/** Password work: each hash takes tens of milliseconds and 19 MiB, so it goes through a concurrency limiter. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Whether the password matches; without a hash it does the same work, and says no. */
  matches(password: string, hash: string | null): Promise<boolean>;
  /**
   * Runs a check of somebody's password as one attempt, counted against each name before it is made, so that many at
   * once cannot slip through, and taken back where it succeeds. Throws what the counter and the limiter throw.
   */
  attempt<T>(names: readonly string[], check: () => Promise<T | undefined>): Promise<T | undefined>;
}

/** The name that failures to sign in to an account count under, known or not. It does not tell the e-mail. */
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
        // A check that could not be made tells a guesser nothing, so it is no failure either.
        if (!failed) for (const name of names) await failures.forgive(name);
      }
    },
  };
}
