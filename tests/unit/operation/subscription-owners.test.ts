import { expect, it } from 'vitest';
import { SubscriptionOwners } from '../../../src/engine/subscriptions/shared-subscription.ts';
import { DecayingUsage } from '../../../src/platform/fairness/fair-queue.ts';

it('what a group of many accounts reads is charged to all of them alike, and first to who has used little', () => {
  const use = new DecayingUsage();
  const owners = new SubscriptionOwners(use);
  const accounts = Array.from({ length: 50 }, (_, index) => `account ${index}`);
  for (const account of accounts) owners.add(account);
  use.add('account 7', 1_000);
  const charged = new Map<string, number>();
  for (let read = 0; read < 1_000; read += 1) {
    const owner = owners.next() ?? 'nobody';
    use.add(owner, 1);
    charged.set(owner, (charged.get(owner) ?? 0) + 1);
  }
  expect(charged.get('account 7')).toBeUndefined();
  const counts = accounts.filter((account) => account !== 'account 7').map((account) => charged.get(account));
  for (const count of counts) expect(count).toBeCloseTo(1_000 / 49, -1);
});

it('an account is charged until its last stream has left', () => {
  const owners = new SubscriptionOwners(new DecayingUsage());
  owners.add('one');
  owners.add('one');
  owners.remove('one');
  expect(owners.next()).toBe('one');
  owners.remove('one');
  expect(owners.next()).toBeUndefined();
});
