import { describe, expect, it } from 'vitest';
import { hashPassword, unmatchableHash, verifyPassword } from '../../../src/auth/passwords.ts';

/** The part of a hash that says how much work it is. */
const costOf = (hash: string) => hash.split('$').slice(0, 4).join('$');

describe('a password hash', () => {
  it('is argon2id in PHC form, with OWASP’s cost or more', async () => {
    const [, memory = '', passes = '', lanes] =
      /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$[\w+/]{22}\$[\w+/]{43}$/.exec(
        await hashPassword('some password'),
      ) ?? [];
    expect(Number(memory)).toBeGreaterThanOrEqual(19_456);
    expect(Number(passes)).toBeGreaterThanOrEqual(2);
    expect(lanes).toBe('1');
  });

  it('matches its password and no other, and is another each time', async () => {
    const [one, two] = await Promise.all([hashPassword('påsswörd'), hashPassword('påsswörd')]);
    expect(one).not.toBe(two);
    expect(await verifyPassword('påsswörd', one ?? '')).toBe(true);
    for (const wrong of ['', 'påssword', 'påsswörd ', 'PÅSSWÖRD'])
      expect(await verifyPassword(wrong, two ?? '')).toBe(false);
  });

  it('of nobody is as much work as a real one, and matches nothing', async () => {
    const nobody = unmatchableHash();
    expect(costOf(nobody)).toBe(costOf(await hashPassword('x')));
    expect(nobody).toHaveLength((await hashPassword('x')).length);
    expect(await verifyPassword('x', nobody)).toBe(false);
  });
});
