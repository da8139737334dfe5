import { expect, it } from 'vitest';
import { APPEND_EVENT } from '../../../src/events/log.ts';
import type { EventEdge } from '../../../src/graphql/look-ahead/edge.ts';
import { commentEntity } from '../../../src/modules/comment/type.ts';
import { postEntity } from '../../../src/modules/post/type.ts';

it('An event edge is about an entity whose events a mutation appends: another does not compile', () => {
  const appended: EventEdge = { kind: 'event', entity: postEntity };
  expect(APPEND_EVENT[appended.entity.name]('post')).toContain('INSERT INTO events');
  // @ts-expect-error Nothing appends events about comments: the subscription would open and stay silent.
  const silent: EventEdge = { kind: 'event', entity: commentEntity };
  expect(silent.entity.name in APPEND_EVENT).toBe(false);
});
