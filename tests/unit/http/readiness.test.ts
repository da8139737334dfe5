import { describe, expect, it } from 'vitest';
import { createReadiness } from '../../../src/http/routes/health.ts';
import { steppedClock } from '../../support/time/stepped-clock.ts';

/** A probe that ends when it is told to. */
function make() {
  const clock = steppedClock();
  const probes: PromiseWithResolvers<string[]>[] = [];
  const pendingMigrations = () => {
    const probe = Promise.withResolvers<string[]>();
    probes.push(probe);
    return probe.promise;
  };
  const readiness = createReadiness({
    pendingMigrations,
    load: () => ({ loading: undefined, loaded: true }),
    writeProblem: () => undefined,
    clock,
    onFailure: () => undefined,
  });
  return { readiness, probes, clock };
}

const many = (count: number, ask: () => Promise<string | undefined>) =>
  Promise.all(Array.from({ length: count }, ask));

describe('readiness', () => {
  it('is asked of the database once for all who ask meanwhile', async () => {
    const { readiness, probes } = make();
    const responses = many(1_000, readiness.problem);
    expect(probes).toHaveLength(1);
    probes[0]?.resolve([]);
    expect(new Set(await responses)).toEqual(new Set([undefined]));
    expect(probes).toHaveLength(1);
  });

  it('is at most a second old, whatever the time of day is set to', async () => {
    const { readiness, probes, clock } = make();
    const first = readiness.problem();
    probes[0]?.resolve(['20260101_some']);
    expect(await first).toContain('20260101_some');
    clock.adjust(-86_400_000);
    clock.advance(999);
    expect(await readiness.problem()).toContain('20260101_some');
    expect(probes).toHaveLength(1);
    clock.advance(1);
    const second = readiness.problem();
    expect(probes).toHaveLength(2);
    probes[1]?.resolve([]);
    expect(await second).toBeUndefined();
  });

  it('has one probe under way, also where that takes longer than its response is good for', async () => {
    const { readiness, probes, clock } = make();
    const responses = [readiness.problem()];
    for (let second = 0; second < 5; second += 1) {
      clock.advance(1_000);
      responses.push(readiness.problem());
    }
    expect(probes).toHaveLength(1);
    probes[0]?.resolve([]);
    expect(new Set(await Promise.all(responses))).toEqual(new Set([undefined]));
    void readiness.problem();
    expect(probes).toHaveLength(2);
  });

  it('is not known before the first response, and asking for the last response has an old one renewed', async () => {
    const { readiness, probes, clock } = make();
    expect(readiness.lastKnown()).toBe(false);
    expect(probes).toHaveLength(1);
    probes[0]?.resolve([]);
    await readiness.problem();
    expect(readiness.lastKnown()).toBe(true);
    expect(probes).toHaveLength(1);
    clock.advance(1_001);
    expect(readiness.lastKnown()).toBe(true);
    expect(probes).toHaveLength(2);
    probes[1]?.reject(new Error('gone'));
    await readiness.problem();
    expect(readiness.lastKnown()).toBe(false);
    readiness.leave();
    expect(readiness.lastKnown()).toBe(false);
  });
});
