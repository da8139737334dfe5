import { expect, it, onTestFinished, vi } from 'vitest';
import { useApp } from '../../support/app.ts';
import { readMetric } from '../../support/metrics.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const app = useApp();

it('a stream on which nothing happens gets a comment at least every 15 seconds, and nothing keeps time once all have ended', async () => {
  const { key } = await app.account();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const timers = vi.getTimerCount();
  const { stream, close } = await subscribe(app, { key });
  for (let round = 0; round < 3; round += 1) {
    const next = stream.block();
    vi.advanceTimersByTime(15_000);
    expect((await next)?.raw).toMatch(/^:/);
  }
  await close();
  const open = () => {
    // The service makes a new text of metrics as time passes.
    vi.advanceTimersByTime(100);
    return readMetric(app, 'content_graph_event_streams_open');
  };
  await expect.poll(open).toBe(0);
  expect(vi.getTimerCount()).toBe(timers);
});
