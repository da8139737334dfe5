import { describe, expect, it } from 'vitest';
import { PreparedBudget } from '../../../src/platform/db/prepared-statements.ts';

const MIB = 1_048_576;

describe('what connections may keep prepared', () => {
  it('is at most 16 MiB each and 128 MiB together, however many they are', () => {
    for (let connections = 1; connections <= 200; connections += 1) {
      const { share } = new PreparedBudget(connections);
      expect(share).toBeGreaterThan(0);
      expect(share).toBeLessThanOrEqual(16 * MIB);
      expect(connections * share).toBeLessThanOrEqual(128 * MIB);
    }
  });
});
