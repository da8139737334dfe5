import { expect, it } from 'vitest';
import { AccountError, createAccount } from '../../../src/auth/account/store.ts';
import { useApp } from '../../support/app.ts';

const app = useApp();

it('of several accounts with one e-mail at once, one is made, and the others are told that it exists', async () => {
  const account = { name: 'Eve', email: 'eve@example.org', password: 'a long passphrase' };
  const create = () => createAccount(app.database, account);
  const results = await Promise.allSettled([create(), create(), create(), create()]);
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
  expect(refused).toHaveLength(3);
  for (const reason of refused) {
    expect(reason).toBeInstanceOf(AccountError);
    expect(reason.message).toBe('An account with the e-mail "eve@example.org" already exists.');
  }
});
