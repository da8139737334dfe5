import pg from 'pg';
import { given, POOL_SIZE } from '../child.ts';

export const pool = new pg.Pool({ connectionString: given('DATABASE_URL'), max: POOL_SIZE });

/** What a named statement returns. */
export async function rows<Row extends pg.QueryResultRow>(
  name: string,
  text: string,
  values: unknown[],
): Promise<Row[]> {
  return (await pool.query<Row>({ name, text, values })).rows;
}

export interface UserRow {
  readonly id: string;
  readonly name: string;
}

export interface PostRow {
  readonly id: string;
  readonly title: string;
  readonly authorId: string;
  readonly commentCount: number;
}

/** A post of a connection or of a page: with its time. */
export interface DatedPostRow extends PostRow {
  readonly createdAt: Date;
}

export interface CommentRow {
  readonly id: string;
  readonly body: string;
  readonly authorId: string;
  readonly postId: string;
  readonly createdAt: Date;
}
