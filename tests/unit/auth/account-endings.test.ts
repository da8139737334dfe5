import { expect, it } from 'vitest';
import { sumOf } from '../../../src/auth/revocation.ts';

it('a command that revokes in two steps reports the credentials of both', () => {
  expect(sumOf({ sessions: 1, 'api-keys': 2 }, { sessions: 500 })).toEqual({ sessions: 501, 'api-keys': 2 });
});
