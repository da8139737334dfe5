import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readThrottle, type ThrottledSource } from '../../../src/platform/fairness/event-loop.ts';

const CHUNK = 65_536;
const A_TURN = 4;

/** A connection with chunks to send. The system reads it for as long as it is not paused. */
class Sender implements ThrottledSource {
  readonly number = readThrottle.nextNumber();
  readonly owner: string | undefined;
  readonly stream = { pause: () => this.#pause(true), resume: () => this.#pause(false) };
  left: number;
  #paused = false;

  constructor(owner: string | undefined, chunks: number) {
    this.owner = owner;
    this.left = chunks;
  }

  get paused(): boolean {
    return this.#paused;
  }

  #pause(paused: boolean): void {
    this.#paused = paused;
  }

  /** As much as libuv reads at once. Returns how many chunks were taken. */
  read(): number {
    let taken = 0;
    for (; taken < 32 && this.left > 0 && !this.#paused; taken += 1) {
      this.left -= 1;
      readThrottle.take(this, CHUNK);
    }
    return taken;
  }
}

/** Goes round until all is read. Returns what was taken each time. */
async function readAll(senders: readonly Sender[]): Promise<number[][]> {
  const rounds: number[][] = [];
  while (senders.some(({ left, paused }) => left > 0 || paused)) {
    rounds.push(senders.map((sender) => sender.read()));
    if (rounds.length > 10_000) throw new Error('somebody is never read');
    await nextTurn();
  }
  return rounds;
}

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

describe('What connections send', () => {
  it('is read in time slices, all of it, whoever sends', async () => {
    const senders = fc.array(fc.record({ owner: fc.nat(3), chunks: fc.nat(200) }), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(senders, async (drawn) => {
        const all = drawn.map(
          ({ owner, chunks }) => new Sender(owner === 0 ? undefined : `owner ${owner}`, chunks),
        );
        const rounds = await readAll(all);
        expect(sum(rounds.flat())).toBe(sum(drawn.map(({ chunks }) => chunks)));
        // Beyond a time slice, each is known to have sent only once it has.
        for (const round of rounds) expect(sum(round)).toBeLessThanOrEqual(A_TURN + all.length);
      }),
      { numRuns: 40 },
    );
  });

  it('is read one after the other for an owner, and beside that for another', async () => {
    const all = [new Sender('one', 60), new Sender('one', 60), new Sender('other', 60)] as const;
    const [older, younger, beside] = all;
    let rounds = 0;
    for (; older.left > 0; rounds += 1) {
      for (const sender of [younger, older, beside]) sender.read();
      await nextTurn();
    }
    // What was read before the connection was paused.
    expect(younger.left).toBeGreaterThan(50);
    expect(beside.left).toBeLessThanOrEqual(60 - rounds + 1);
    await readAll(all);
    expect(all.map(({ left }) => left)).toEqual([0, 0, 0]);
  });
});
