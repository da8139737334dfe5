import { expect, it } from 'vitest';
import { AccountError, createAccount } from '../../../src/auth/accounts.ts';
import { useApp } from '../../support/app.ts';

const app = useApp();

it('of several accounts made at once with one e-mail one is made, and the others are told in plain words', async () => {
  const spellings = ['once@example.com', 'ONCE@example.com', 'Once@Example.com'];
  const made = await Promise.allSettled(
    spellings.map((email) =>
      createAccount(app.database, { name: 'Once', email, password: 'a password for one of them' }),
    ),
  );
  const reasons = made.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(reasons).toHaveLength(spellings.length - 1);
  for (const reason of reasons) {
    expect(reason).toBeInstanceOf(AccountError);
    expect(reason.message).toMatch(/^An account with the e-mail "once@example\.com" already exists\.$/i);
  }
});
