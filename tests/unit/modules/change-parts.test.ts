import { describe, expect, it } from 'vitest';
import { entityIdSql } from '../../../src/schema/change/type.ts';

const POST = { name: 'POST_CREATED', shows: undefined };
const COMMENT = { name: 'COMMENT_CREATED', shows: 'comment' };
const REACTION = { name: 'REACTION_ADDED', shows: 'reaction' };

describe('the id of the row that a change shows', () => {
  it('is that of the event while only one type is shown', () => {
    expect(entityIdSql('comment', [POST, COMMENT])).toBe('t.part_id');
  });

  it('is NULL for the kinds of another type', () => {
    const kinds = [POST, COMMENT, REACTION];
    const expected = (name: string) => `CASE WHEN t.kind IN ('${name}') THEN t.part_id END`;
    expect(entityIdSql('comment', kinds)).toBe(expected('COMMENT_CREATED'));
    expect(entityIdSql('reaction', kinds)).toBe(expected('REACTION_ADDED'));
  });
});
