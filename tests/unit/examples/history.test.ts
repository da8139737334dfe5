import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createHistory, type LiveEvent } from '../../../examples/live/history.ts';

/** The events after a place, as a stream that begins there brings them. */
function stream(ids: readonly number[], start: number): LiveEvent[] {
  const after = ids.filter((id) => id > start);
  return after.map((id, index) => ({
    after: String(after[index - 1] ?? start),
    id: String(id),
    data: `"${id}"`,
  }));
}

function take(events: readonly LiveEvent[], start: number) {
  const history = createHistory();
  history.startAt(String(start));
  const added: string[] = [];
  const results = events.map((event) => {
    const result = history.add(event);
    if (result === 'added') added.push(event.id);
    return result;
  });
  return { history, added, results };
}

describe('the history of a tab', () => {
  it('has every event once and in order, wherever another stream goes on, and whatever was deleted meanwhile', () => {
    // The first leader's stream up to `seen`, then that of a tab which had less. Deleted events are not sent again.
    const given = fc.record({
      count: fc.integer({ min: 1, max: 40 }),
      seen: fc.nat(40),
      behind: fc.nat(40),
      deleted: fc.uniqueArray(fc.integer({ min: 1, max: 40 })),
    });
    fc.assert(
      fc.property(given, ({ count, seen, behind, deleted }) => {
        const all = Array.from({ length: count }, (_, index) => index + 1);
        const upTo = Math.min(seen, count);
        const left = all.filter((id) => !deleted.includes(id));
        const first = stream(all, 0).slice(0, upTo);
        const second = stream(left, Math.min(behind, upTo));
        const { added, results } = take([...first, ...second], 0);
        expect(results).not.toContain('out of reach');
        expect(added.map(Number)).toEqual([...all.slice(0, upTo), ...left.filter((id) => id > upTo)]);
      }),
      { numRuns: 1_000 },
    );
  });

  it('says of an event that it is out of reach where one before it is missing, and takes both in order', () => {
    const [one, two, three] = stream([1, 2, 3], 0);
    if (one === undefined || two === undefined || three === undefined)
      throw new Error('there are three events');
    const { added, results } = take([one, three, two, three, three], 0);
    expect(results).toEqual(['added', 'out of reach', 'added', 'added', 'repeated']);
    expect(added).toEqual(['1', '2', '3']);
  });

  it('serves what it has, and says where it does not reach back', () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => index + 1);
    const { history } = take(stream(ids, 0), 0);
    expect(history.since('1000')).toEqual([]);
    expect(history.since('998')?.map(({ id }) => id)).toEqual(['999', '1000']);
    expect(history.since('500')).toHaveLength(500);
    expect(history.since('499')).toBeUndefined();
    expect(history.since('another')).toBeUndefined();
  });

  it('keeps few of long events', () => {
    const long = 'x'.repeat(1_000_000);
    const { history } = take(
      stream([1, 2, 3, 4, 5, 6], 0).map((event) => ({ ...event, data: long })),
      0,
    );
    expect(history.since('2')).toHaveLength(4);
    expect(history.since('1')).toBeUndefined();
  });
});
