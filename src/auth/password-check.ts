import { hash } from 'node:crypto';
import type { Line } from '../platform/line.ts';
import { emailKey } from './account/store.ts';
import { hashPassword, unmatchableHash, verifyPassword } from './password.ts';

/** The names under which a failure counts. */
export type FailureNames = readonly [name: string, other?: string];

/** Counts failures by name. */
export interface FailureCounter {
  /** Counts a failure under each name, or under none. Throws if there were too many under one. */
  failure(...names: FailureNames): Promise<void>;
  /** Takes back an attempt that did not fail. */
  forgive(...names: FailureNames): Promise<void>;
}

/** The name for wrong passwords inside the sessions of an account. Only clients with such a session can cause them. */
export const confirmationFailures = (accountId: string): string => `confirmation:${accountId}`;

/** The name for failed sign-ins to an account, known or not. It does not reveal the e-mail. */
export function accountFailures(email: string): string {
  return `account:${hash('sha256', emailKey(email), 'base64url')}`;
}

/**
 * Password work. Each hash takes tens of milliseconds and 19 MiB, so it takes a place in line. `owner` is
 * whom it counts for: an account or, before a login, an address.
 */
export function createPasswords(line: Line, failures: FailureCounter) {
  const dummy = unmatchableHash();

  return {
    hash: (owner: string, password: string): Promise<string> =>
      line.measured(owner, () => hashPassword(password)),
    /** Whether the password matches. Without a hash it does the same work and returns false. */
    matches: async (owner: string, password: string, hash: string | null): Promise<boolean> =>
      (await line.measured(owner, () => verifyPassword(password, hash ?? dummy))) && hash !== null,
    /**
     * Runs a password check as one attempt. It is counted against each name beforehand, so that concurrent
     * attempts cannot slip through, and taken back on success. Throws what the counter and the line throw.
     */
    async attempt<T>(names: FailureNames, check: () => Promise<T | undefined>): Promise<T | undefined> {
      await failures.failure(...names);
      let failed = false;
      try {
        const result = await check();
        failed = result === undefined;
        return result;
      } finally {
        // A check that throws tells an attacker nothing, so it is not a failure.
        if (!failed) await failures.forgive(...names);
      }
    },
  };
}

export type Passwords = ReturnType<typeof createPasswords>;
