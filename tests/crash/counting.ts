import { openDatabase } from '../../src/database/database.ts';
import { statement } from '../../src/database/statement.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { createLogger } from '../../src/platform/log/log.ts';
import type { Settings } from '../support/processes/process.ts';
import { AMPLE_TIMEOUTS } from '../support/settings.ts';

const COUNT = statement<{
  posts: number;
  events: number;
  stored: number;
  drafts: number;
  /** Drafts whose post exists. */
  both: number;
}>(
  'crash_count',
  `SELECT (SELECT count(*)::int FROM posts WHERE title LIKE 'crash %') AS posts,
     (SELECT count(*)::int FROM events JOIN posts ON posts.id = events.root_id WHERE kind = 'POST_CREATED' AND title LIKE 'crash %') AS events,
     (SELECT count(*)::int FROM idempotency_keys) AS stored,
     (SELECT count(*)::int FROM drafts) AS drafts,
     (SELECT count(*)::int FROM drafts JOIN posts USING (title)) AS both`,
);

/** What the crashes have left in the database. An embedded one must not be in use. */
export async function countRows(settings: Settings) {
  const log = createLogger({ level: 'error', pretty: false });
  const database = await openDatabase({ config: loadConfig({ ...AMPLE_TIMEOUTS, ...settings }), log });
  try {
    const [row] = await database.query(COUNT, []);
    if (row === undefined) throw new Error('nothing was counted');
    return row;
  } finally {
    await database.close();
  }
}
