import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyBudget, BodyMemory } from '../../../src/http/server/request-body.ts';

const MAX = 1_000;

describe('the room for bodies', () => {
  it('is never overdrawn, gives up the oldest first, and is all there again in the end', () => {
    const step = fc.record({
      kind: fc.constantFrom('whole', 'grow', 'arrive', 'release'),
      body: fc.nat(5),
      bytes: fc.integer({ min: 1, max: 700 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const budget = new BodyBudget(MAX);
        /** What is on its way, the oldest first, and what is to be released. */
        let arriving: BodyMemory[] = [];
        const complete: BodyMemory[] = [];
        const dropped: BodyMemory[] = [];
        const create = () => {
          const body: BodyMemory = new BodyMemory(budget, () => dropped.push(body));
          return body;
        };
        const start = () => {
          const body = create();
          arriving.push(body);
          return body;
        };
        for (const { kind, body, bytes } of steps) {
          dropped.length = 0;
          if (kind === 'whole') {
            const whole = create();
            if (whole.take(bytes)) complete.push(whole);
            else expect(arriving.length - dropped.length).toBe(0);
          } else if (kind === 'grow') {
            const grown = arriving[body] ?? start();
            expect(grown.grow(bytes)).toBe(!dropped.includes(grown));
          } else if (kind === 'arrive') {
            const arrived = arriving[body] ?? start();
            arrived.complete();
            complete.push(arrived);
          } else complete.pop()?.release();
          expect(dropped).toEqual(arriving.slice(0, dropped.length));
          arriving = arriving.filter((one) => !dropped.includes(one) && !complete.includes(one));
          expect(budget.bytes).toBeLessThanOrEqual(MAX);
        }
        for (const one of [...arriving, ...complete]) one.release();
        expect(budget.bytes).toBe(0);
      }),
    );
  });

  it('is charged to the account of a request, an eighth at most, until the request is answered', () => {
    const budget = new BodyBudget(MAX);
    const bodyOf = (bytes: number) => {
      const body = new BodyMemory(budget, () => undefined);
      body.take(bytes);
      return body;
    };
    const [first, second, third] = [bodyOf(100), bodyOf(20), bodyOf(10)];
    expect([first.own('a'), second.own('a'), third.own('a')]).toEqual([true, true, false]);
    expect(third.own('b')).toBe(true);
    first.release();
    expect([budget.usedBy('a'), budget.usedBy('b'), budget.bytes]).toEqual([20, 10, 30]);
    expect(first.own('a')).toBe(false);
  });
});
