import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyBudget } from '../../../src/http/server/body-budget.ts';

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
        let arriving: { giveUp(): void }[] = [];
        const held: number[] = [];
        const given: unknown[] = [];
        const start = () => {
          const body = { giveUp: () => void given.push(body) };
          arriving.push(body);
          return body;
        };
        for (const { kind, body, bytes } of steps) {
          given.length = 0;
          if (kind === 'whole') {
            if (budget.take(bytes)) held.push(bytes);
            else expect(arriving.length - given.length).toBe(0);
          } else if (kind === 'grow') budget.grow(arriving[body] ?? start(), bytes);
          else if (kind === 'arrive') held.push(budget.arrived(arriving[body] ?? start()));
          else budget.release(held.pop() ?? 0);
          expect(given).toEqual(arriving.slice(0, given.length));
          arriving = arriving.filter((one) => !given.includes(one));
          if (kind === 'arrive') arriving.splice(Math.min(body, arriving.length - 1), 1);
          expect(budget.heldBytes).toBeLessThanOrEqual(MAX);
        }
        for (const one of arriving) budget.release(budget.arrived(one));
        for (const bytes of held) budget.release(bytes);
        expect(budget.heldBytes).toBe(0);
      }),
    );
  });
});
