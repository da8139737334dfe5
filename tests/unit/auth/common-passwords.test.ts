import { readFileSync } from 'node:fs';
import { dictionary } from '@zxcvbn-ts/language-common';
import { expect, it } from 'vitest';
import { isCommon, PASSWORD } from '../../../src/auth/accounts.ts';

const PROMISE = /with a list of ([\d,]+), of which ([\d,]+) are that long/;

it('the list of common passwords has as many entries as the contract says, and as many of 12 characters or more', async () => {
  const contract = readFileSync(new URL('../../../docs/reference/accounts.md', import.meta.url), 'utf8');
  const [, all, long] = PROMISE.exec(contract) ?? [];
  const passwords = dictionary['passwords-common'];
  const rejected = await Promise.all(passwords.map((password) => isCommon(password, PASSWORD.min)));
  const roundTo = (unit: number, count: number) => Math.round(count / unit) * unit;
  expect(roundTo(1_000, passwords.length).toLocaleString('en')).toBe(all);
  expect(String(roundTo(100, rejected.filter(Boolean).length))).toBe(long);
});
