import { describe, expect, it, onTestFinished } from 'vitest';
import type { Job } from '../../src/database/jobs.ts';
import { statement } from '../../src/database/statement.ts';
import { useApp } from '../support/app.ts';
import { LOCKS } from '../support/database/locks.ts';
import { startTestJobRunner } from '../support/job-runner.ts';

/** A job that goes on until the test ends it. */
function longJob() {
  let begun = 0;
  let finish = () => {};
  const finished = new Promise<number>((resolve) => {
    finish = () => resolve(0);
  });
  let begin = () => {};
  const running = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const job: Job = {
    name: 'long',
    run: () => {
      begun += 1;
      begin();
      return finished;
    },
  };
  onTestFinished(() => finish());
  return { job, running, finish, times: () => begun };
}

const counting = () => {
  let count = 0;
  const job: Job = {
    name: 'counting',
    async run() {
      count += 1;
      return 0;
    },
  };
  return { job, times: () => count };
};

const END_HOLDER = statement<{ ended: boolean }>(
  'test_end_advisory_holder',
  `SELECT pg_terminate_backend(pid) AS ended FROM ${LOCKS} WHERE locktype = 'advisory' AND granted`,
);

describe('the job runner on several instances', () => {
  const app = useApp();

  it('is done by one at a time, and by the next once it is through', async () => {
    const long = longJob();
    const other = counting();
    const one = startTestJobRunner(app, [long.job]);
    const two = startTestJobRunner(app, [other.job]);
    const round = one.runAll();
    await long.running;
    await two.runAll();
    expect(other.times()).toBe(0);
    long.finish();
    await round;
    await two.runAll();
    expect(other.times()).toBe(1);
  });

  it('goes on elsewhere as soon as the connection of an instance ends, as when it is killed', async () => {
    const long = longJob();
    const other = counting();
    const one = startTestJobRunner(app, [long.job]);
    const two = startTestJobRunner(app, [other.job]);
    const round = one.runAll();
    await long.running;
    expect((await app.database.query(END_HOLDER, [])).map(({ ended }) => ended)).toEqual([true]);
    // The server frees the lock when the backend has gone.
    await expect
      .poll(async () => {
        await two.runAll();
        return other.times();
      })
      .toBeGreaterThan(0);
    long.finish();
    await round;
    await one.runAll();
    expect(long.times()).toBe(2);
  });
});
