import { expect, it, onTestFinished } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { holdTable } from '../../../support/database/blocked.ts';
import { useSocket } from '../../../support/socket.ts';
import { clockOf } from '../../../support/time/stepped-clock.ts';

/** Of all bodies, an eighth is for one account. */
const ALL_BYTES = 800_000;
const BODY_BYTES = 20_000;
/** Together less than all: none is rejected for want of room. */
const MANY = 30;

const app = useApp({
  // The look-up of a key is done once: a held table then holds up mutations alone.
  clock: clockOf(() => 1_800_000_000_000),
});
const socket = useSocket(app, { maxBufferedBodyBytes: ALL_BYTES });

const post = (key: string) =>
  socket.fetch('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({
      query: `mutation { createPost(title: "T", body: "b") { id } } #${'x'.repeat(BODY_BYTES)}`,
    }),
  });

it('The bodies of one account take an eighth of the memory for bodies: others are not rejected', async () => {
  const { key } = await app.account();
  const other = await app.account();
  // Look-ups of keys are remembered: the table holds up nothing else.
  for (const known of [key, other.key]) expect((await post(known)).status).toBe(200);
  const held = await holdTable(app, 'posts');
  onTestFinished(held.release);
  const statuses: number[] = [];
  // Not duplicates of one Idempotency-Key, which give up after 5 s, however slow the machine is.
  const waiting = Array.from({ length: MANY }, () =>
    post(key).then((response) => {
      statuses.push(response.status);
      return response;
    }),
  );
  await expect
    .poll(() => statuses.length)
    .toBeGreaterThanOrEqual(MANY - Math.floor(ALL_BYTES / 8 / BODY_BYTES));
  const rejected = statuses.filter((status) => status === 429);
  expect(rejected).toHaveLength(statuses.length);
  const others = [post(other.key), post(other.key)];
  await held.release();
  for (const response of await Promise.all(others)) expect(response.status).toBe(200);
  for (const response of await Promise.all(waiting)) {
    expect([200, 429]).toContain(response.status);
    if (response.status === 429) expect(response.headers.get('retry-after')).toBe('1');
  }
  // What has been answered is given back.
  expect((await post(key)).status).toBe(200);
});
