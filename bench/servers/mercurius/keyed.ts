import { hash } from 'node:crypto';
import { freeSlug, slugsFor } from '../slug.ts';
import { type PostRow, rows } from './database.ts';

interface NewPost {
  readonly authorId: string;
  /** The Idempotency-Key. */
  readonly key: string;
  readonly title: string;
  readonly body: string;
}

/** The post and, under the key, its row: both or, where somebody has the key already, neither. */
const INSERT_ONCE = `WITH made AS (
    SELECT id, json_build_object('id', id, 'title', $2::text, 'authorId', $1::uuid, 'commentCount', 0)::text AS json
    FROM gen_random_uuid() AS id),
  key AS (
    INSERT INTO idempotency_keys (user_id, key_hash, fingerprint, status, body)
    SELECT $1::uuid, $4, $5, 200, convert_to(json, 'UTF8') FROM made
    ON CONFLICT (user_id, key_hash) DO NOTHING RETURNING user_id)
  INSERT INTO posts (id, author_id, title, body, slug)
  SELECT made.id, key.user_id, $2, $3, ${freeSlug('$6')} FROM made, key
  RETURNING id, title, author_id AS "authorId", comment_count AS "commentCount"`;
const STORED = `SELECT convert_from(body, 'UTF8') AS json FROM idempotency_keys
  WHERE user_id = $1 AND key_hash = $2 AND fingerprint = $3`;

/** Writes a post once under a key, as one statement; a repetition reads what the first one has written. */
export async function createOnce({ authorId, key, title, body }: NewPost): Promise<PostRow> {
  const keyHash = hash('sha256', key, 'buffer');
  const fingerprint = hash('sha256', JSON.stringify([title, body]), 'buffer');
  const [made] = await rows<PostRow>('insert_once', INSERT_ONCE, [
    authorId,
    title,
    body,
    keyHash,
    fingerprint,
    slugsFor(title),
  ]);
  if (made !== undefined) return made;
  const [stored] = await rows<{ json: string }>('stored', STORED, [authorId, keyHash, fingerprint]);
  if (stored === undefined) throw new Error('The key was used for another post.');
  return JSON.parse(stored.json) as PostRow;
}
