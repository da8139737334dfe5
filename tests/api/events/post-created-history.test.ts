import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { pruneEvents } from '../../../src/engine/events/event-log.ts';
import { renewLog } from '../../../src/engine/events/log-state.ts';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { dropEvents } from '../../support/database/events.ts';
import { readMetric } from '../../support/metrics.ts';
import {
  type Method,
  received,
  type Subscriber,
  subscribe,
  titlesOf,
} from '../../support/streams/subscriber.ts';

const METHODS: readonly Method[] = ['GET', 'POST'];

describe.each(METHODS)('an event id that cannot be gone on from, over %s', (method) => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '10000' } });
  const caller = useAccount(app);
  const opened: Subscriber[] = [];
  const open = async (header?: string) => {
    const stream = await subscribe(app, { key: caller.key, method, header });
    opened.push(stream);
    return stream;
  };
  /** While somebody listens, a process remembers events that retention has dropped. */
  async function closeAll(): Promise<void> {
    // Some have broken off.
    for (const stream of opened.splice(0)) await stream.close().catch(() => undefined);
    await expect.poll(() => readMetric(app, 'content_graph_event_streams_open')).toBe(0);
  }
  afterEach(closeAll);

  /** One `next` with the error and the current id, then `complete` and the end; from that id it goes on live. */
  async function expectRejected({ stream, startId }: Subscriber, code: string): Promise<void> {
    const { id, errors } = received(await stream.event());
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual([code]);
    expect(id).toBe(startId);
    expect(await stream.event()).toMatchObject({ event: 'complete', data: '' });
    expect(await stream.block()).toBeUndefined();
    const onward = await open(id);
    await createPost(app, caller.key, { title: 'onward' });
    expect((await onward.receive()).title).toBe('onward');
    await onward.close();
  }

  it('is BAD_USER_INPUT where it is malformed', async () => {
    const rejected = await open('nonsense');
    const { errors } = received(await rejected.stream.event());
    expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', argument: 'lastEventId' } }]);
    await expectRejected(await open('nonsense'), 'BAD_USER_INPUT');
  });

  it('is BAD_USER_INPUT whatever was changed about a good one', async () => {
    const { startId } = await open();
    const characters = fc.constantFrom(...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_');
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: startId.length - 1 }), characters, async (index, character) => {
        fc.pre(startId[index] !== character);
        const { stream } = await open(startId.slice(0, index) + character + startId.slice(index + 1));
        const { errors } = received(await stream.event());
        expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
      }),
      { numRuns: 40 },
    );
  });

  it('is EVENT_HISTORY_EXPIRED once retention has dropped what came after it', async () => {
    const { startId } = await open();
    await closeAll();
    await createPost(app, caller.key);
    await dropEvents(app);
    await expectRejected(await open(startId), 'EVENT_HISTORY_EXPIRED');
  });

  it('is good while nothing after it was dropped', async () => {
    const stream = await open();
    await createPost(app, caller.key, { title: 'last seen' });
    const seen = (await stream.until('last seen')).at(-1)?.id ?? '';
    await dropEvents(app);
    const fresh = await open();
    await createPost(app, caller.key, { title: 'after the pruning' });
    for (const id of [seen, fresh.startId]) {
      expect(titlesOf(await (await open(id)).until('after the pruning'))).toEqual(['after the pruning']);
    }
  });

  it('is EVENT_HISTORY_EXPIRED in another generation of the log', async () => {
    const stream = await open();
    await createPost(app, caller.key, { title: 'of the old generation' });
    const seen = (await stream.until('of the old generation')).at(-1)?.id ?? '';
    await renewLog(app.database);
    await expectRejected(await open(seen), 'EVENT_HISTORY_EXPIRED');
    await expectRejected(await open(stream.startId), 'EVENT_HISTORY_EXPIRED');
  });

  it('is not given out any more by streams that were open when another generation began', async () => {
    const stream = await open();
    await createPost(app, caller.key, { title: 'before' });
    await stream.until('before');
    await renewLog(app.database);
    await createPost(app, caller.key, { title: 'after' });
    await expect(stream.stream.event()).rejects.toThrow();
  });

  it('drops only what is older than the retention', async () => {
    const { startId } = await open();
    await createPost(app, caller.key, { title: 'young' });
    expect(await pruneEvents(app.database, 3_600_000)).toBe(0);
    expect((await (await open(startId)).receive()).title).toBe('young');
  });
});
