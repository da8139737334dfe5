import { describe, expect, it } from 'vitest';
import { diffMigrations } from '../../scripts/schema-engine.ts';

describe('prisma/migrations', () => {
  it.each(['to-schema', 'from-schema'] as const)(
    'produce exactly prisma/schema.prisma: nothing is left to do %s',
    async (direction) => {
      expect(
        await diffMigrations(process.env.DATABASE_URL, direction),
        'The migrations lack this SQL. Run "npm run -s db:diff", and save what it prints as prisma/migrations/<YYYYMMDDHHMMSS>_<name>/migration.sql (docs/contributing/other-changes.md, "Adding a migration")',
      ).toBe('');
    },
  );
});
