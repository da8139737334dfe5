import { describe, expect, it } from 'vitest';
import { partIdSql } from '../../../src/schema/change/type.ts';
import { CHANGE_KINDS } from '../../../src/schema/event-kinds.ts';

describe('the id of the row that a change shows', () => {
  it('is that of the event while only one type is shown', () => {
    expect(partIdSql('comment', CHANGE_KINDS)).toBe('t.part_id');
  });

  it('is NULL for the kinds of another type', () => {
    const kinds = [...CHANGE_KINDS, { name: 'REACTION_ADDED', shows: 'reaction' }];
    expect(partIdSql('reaction', kinds)).toBe(`CASE WHEN t.kind IN ('REACTION_ADDED') THEN t.part_id END`);
    expect(partIdSql('comment', kinds)).toMatch(
      /IN \('COMMENT_CREATED', 'COMMENT_UPDATED', 'COMMENT_DELETED'\)/,
    );
  });
});
