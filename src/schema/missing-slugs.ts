import { violatedUniqueIndex } from '../database/errors.ts';
import type { Job } from '../database/jobs.ts';
import { type Queryable, statement } from '../database/statement.ts';
import type { ContentLimits } from './content-limits.ts';
import { SLUG_INDEX, slugCandidates } from './post/slug.ts';

/** Short transactions delay no events and block no other writers. */
const BATCH = 500;
/** Other jobs run after this one, so a run fills at most 50,000 slugs. */
const BATCHES_A_RUN = 100;
const FIRST_ID = '00000000-0000-0000-0000-000000000000';

const ANY_MISSING = statement<{ readonly missing: boolean }>(
  'post_slug_missing',
  'SELECT true AS missing FROM posts WHERE slug IS NULL LIMIT 1',
);

interface Inspected {
  readonly id: string;
  /** Null if the post has a slug. */
  readonly title: string | null;
}

const INSPECT = statement<Inspected>(
  'post_slugs_inspect',
  `SELECT id, CASE WHEN slug IS NULL THEN title END AS title FROM posts WHERE id > $1 ORDER BY id LIMIT ${BATCH}`,
);
const TAKEN = statement<{ readonly slug: string }>(
  'post_slugs_taken',
  'SELECT slug FROM posts WHERE slug = ANY($1::text[])',
);
/** Posts that another transaction has locked wait for the next run. */
const FILL = statement<never>(
  'post_slugs_fill',
  `WITH missing AS (SELECT id FROM posts WHERE id = ANY($1::uuid[]) AND slug IS NULL ORDER BY id FOR UPDATE SKIP LOCKED)
   UPDATE posts SET slug = given.slug FROM missing JOIN unnest($1::uuid[], $2::text[]) AS given(id, slug) USING (id)
   WHERE posts.id = missing.id`,
);

async function fill(
  db: Queryable,
  posts: readonly Inspected[],
  rule: ContentLimits['post']['slug'],
): Promise<void> {
  const missing = posts.flatMap(({ id, title }) =>
    title === null ? [] : [{ id, candidates: slugCandidates(title, rule) }],
  );
  if (missing.length === 0) return;
  const candidates = missing.flatMap((post) => post.candidates);
  const taken = new Set((await db.query(TAKEN, [candidates])).map(({ slug }) => slug));
  const slugs = missing.map(({ candidates: [first, ...others] }) => {
    const slug = [first, ...others].find((one) => !taken.has(one)) ?? first;
    taken.add(slug);
    return slug;
  });
  await db.query(FILL, [missing.map(({ id }) => id), slugs]);
}

/**
 * Fills the slugs of posts that an older version has inserted. The run reads the posts in the order of their ids,
 * because an index on the missing slugs would be full of dead entries.
 */
export function missingSlugs({ post: { slug: rule } }: ContentLimits): Job {
  let after = FIRST_ID;
  return {
    name: 'missing_slugs',
    async run(db, signal) {
      if ((await db.query(ANY_MISSING, [])).length === 0) return 0;
      for (let batch = 0; batch < BATCHES_A_RUN && signal?.aborted !== true; batch += 1) {
        const posts = await db.query(INSPECT, [after]);
        try {
          await fill(db, posts, rule);
        } catch (error) {
          if (violatedUniqueIndex(error) !== SLUG_INDEX) throw error;
          // A new post took one of the slugs. The next run fills the batch.
          break;
        }
        // New posts have later ids. A run that finds none lets the next run begin again.
        after = posts.at(-1)?.id ?? FIRST_ID;
        if (posts.length < BATCH) break;
      }
      return 0;
    },
  };
}
