import type { Client } from 'pg';

const TAGS = ['databases', 'graphql', 'notes', 'performance', 'releases', 'reviews', 'security'];

/**
 * None to three tags for each post, which its id determines. They are in the order of their names: PostGraphile orders
 * by indexed columns only, which the place of a tag is not in.
 */
export async function tagPosts(client: Client): Promise<void> {
  await client.query(
    `INSERT INTO tags (post_id, name, position, created_at)
     SELECT id, name, row_number() OVER (PARTITION BY id ORDER BY name) - 1, created_at FROM (
       SELECT p.id, p.created_at, ($1::text[])[1 + (h + n * 2) % cardinality($1::text[])] AS name
       FROM posts p, LATERAL (SELECT abs(hashtext(p.id::text)::bigint) AS h) AS hashed,
         LATERAL generate_series(0, (h % 4)::int - 1) AS n) AS tagged`,
    [TAGS],
  );
  await client.query('VACUUM (ANALYZE) tags');
}
