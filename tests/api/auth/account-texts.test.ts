import { describe, expect, it } from 'vitest';
import { AccountError, createAccount } from '../../../src/auth/accounts.ts';
import { useApp } from '../../support/app.ts';

const app = useApp();
let made = 0;

function create(texts: { readonly name?: string; readonly password?: string }): Promise<unknown> {
  made += 1;
  const email = `texts${made}@example.com`;
  return createAccount(app.database, { name: 'Somebody', email, ...texts });
}

describe('An account', () => {
  it.each([1, 100])('can have a name of %i characters', async (length) => {
    await create({ name: '👩'.repeat(length) });
  });

  it.each([0, 101])('cannot have a name of %i characters', async (length) => {
    await expect(create({ name: '👩'.repeat(length) })).rejects.toThrow(AccountError);
  });

  it.each([12, 200])('can have a password of %i characters', async (length) => {
    await create({ password: '👩'.repeat(length) });
  });

  it.each([11, 201])('cannot have a password of %i characters', async (length) => {
    await expect(create({ password: '👩'.repeat(length) })).rejects.toThrow(AccountError);
  });
});
