import type { TestApp } from '../app.ts';

/** What a comment is stored by that takes longer than any test. */
export const SLOW_BODY = 'slow';

/**
 * Has the database work on a comment with `SLOW_BODY` until somebody ends the statement: a trigger that counts, since
 * the embedded database cannot be held up inside a transaction by anybody else.
 */
export async function makeCommentsSlow({ database }: TestApp): Promise<void> {
  const client = await database.dedicatedClient();
  await client.query(`
    CREATE FUNCTION count_for_long() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      FOR n IN 1..100000 LOOP PERFORM count(*) FROM generate_series(1, 100000); END LOOP;
      RETURN NEW;
    END $$;
    CREATE TRIGGER slow BEFORE INSERT ON comments FOR EACH ROW WHEN (NEW.body = '${SLOW_BODY}')
      EXECUTE FUNCTION count_for_long();`);
  await client.end();
}

/** Holds a table in another transaction: on PostgreSQL whoever reads it waits, on the embedded database everybody does. */
export async function holdTable({ database }: TestApp, table: 'posts' | 'comments' | 'api_keys') {
  const client = await database.dedicatedClient();
  // The embedded server ends it by its own restart.
  client.on('error', () => undefined);
  await client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  let held = true;
  return {
    async release(): Promise<void> {
      if (!held) return;
      held = false;
      await client.query('ROLLBACK').catch(() => undefined);
      await client.end().catch(() => undefined);
    },
  };
}
