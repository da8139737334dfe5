import { describe, expect, it } from 'vitest';
import { PreparedBudget } from '../../../src/database/pg-query.ts';

const MIB = 1_048_576;

describe('what connections may keep prepared', () => {
  it('is at most 16 MiB each and 128 MiB together, however many they are', () => {
    for (let connections = 1; connections <= 200; connections += 1) {
      const { connectionBytes } = new PreparedBudget(connections);
      expect(connectionBytes).toBeGreaterThan(0);
      expect(connectionBytes).toBeLessThanOrEqual(16 * MIB);
      expect(connections * connectionBytes).toBeLessThanOrEqual(128 * MIB);
    }
  });
});
