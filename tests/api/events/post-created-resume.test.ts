import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { useAccount, useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import { type Method, subscribe } from '../../support/streams/subscriber.ts';

const METHODS: readonly Method[] = ['GET', 'POST'];

let made = 0;
/** A title that no other post of the file has. */
const fresh = () => {
  made += 1;
  return `post ${made}`;
};

describe.each(METHODS)('Subscription.postCreated resumed over %s', (method) => {
  const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });
  const caller = useAccount(app);
  const post = async (title = fresh()) => {
    await createPost(app, caller.key, { title });
    return title;
  };
  const open = (ids: { header?: string; parameter?: string } = {}) =>
    subscribe(app, { key: caller.key, method, ...ids });

  it('opens with one block of `retry` and `id`, without data', async () => {
    const stream = await open();
    const again = await open({ header: stream.startId });
    expect(again.startId).toBe(stream.startId);
    const raw = (await open()).stream;
    await post();
    expect((await raw.block())?.event).toBe('next');
  });

  it('takes the query parameter lastEventId, and the header over it', async () => {
    const { startId } = await open();
    const one = await post();
    const two = await post();
    const byParameter = await open({ parameter: startId });
    const [first] = await byParameter.until(one);
    expect((await byParameter.receive()).title).toBe(two);
    const byHeader = await open({ parameter: startId, header: first?.id ?? '' });
    expect((await byHeader.receive()).title).toBe(two);
  });

  it('takes an empty header or parameter for none', async () => {
    const { startId } = await open();
    const title = await post();
    const resumed = await open({ header: '', parameter: startId });
    expect((await resumed.receive()).title).toBe(title);
    const anew = await open({ header: '', parameter: '' });
    const later = await post();
    expect((await anew.receive()).title).toBe(later);
  });

  it('gives the same event the same id in every stream', async () => {
    const streams = [await open(), await open()];
    const title = await post();
    const ids = await Promise.all(streams.map(async ({ until }) => (await until(title)).at(-1)?.id));
    const replayed = await open({ header: streams[0]?.startId ?? '' });
    expect(new Set([...ids, (await replayed.until(title)).at(-1)?.id]).size).toBe(1);
  });

  /** A live stream that has got two events, and the id of the second: from there on the service has them at hand. */
  async function openAndFollow() {
    const live = await open();
    await live.until(await post());
    const [last] = await live.until(await post());
    return { live, id: last?.id ?? '' };
  }

  it('leaves out a post that was deleted meanwhile, also right after it went out', async () => {
    const { live, id } = await openAndFollow();
    const gone = await createPost(app, caller.key, { title: 'to be deleted' });
    await live.until('to be deleted');
    const title = await post();
    await app.gql('mutation ($id: ID!) { deletePost(id: $id) }', {
      key: caller.key,
      variables: { id: gone },
    });
    const resumed = await open({ header: id });
    expect((await resumed.receive()).title).toBe(title);
  });

  it('shows a replayed post as it is now', async () => {
    const { live, id } = await openAndFollow();
    const edited = await createPost(app, caller.key, { title: 'before' });
    await live.until('before');
    await app.gql('mutation ($id: ID!) { updatePost(id: $id, title: "after") { id } }', {
      key: caller.key,
      variables: { id: edited },
    });
    expect((await (await open({ header: id })).receive()).title).toBe('after');
  });

  it('gives exactly the rest, however posts, disconnects and resumptions are mixed', async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant('post' as const), count: fc.integer({ min: 1, max: 4 }) }),
      },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('read' as const), count: fc.integer({ min: 1, max: 5 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('resume' as const), from: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('race' as const), from: fc.nat() }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
        /** All posts since the stream first opened, and every id handed out with how many of them lie before it. */
        const posted: string[] = [];
        let stream = await open();
        const ids = [{ id: stream.startId, before: 0 }];
        let at = 0;
        const read = async (count: number) => {
          for (let left = Math.min(count, posted.length - at); left > 0; left -= 1) {
            const { id, title } = await stream.receive();
            expect(title).toBe(posted[at]);
            at += 1;
            ids.push({ id, before: at });
          }
        };
        for (const step of steps) {
          if (step.kind === 'post') {
            for (let n = 0; n < step.count; n += 1) posted.push(await post());
          } else if (step.kind === 'read') await read(step.count);
          else {
            const old = ids[step.from % ids.length] ?? { id: '', before: 0 };
            await stream.close();
            // At the seam: a post while the stream opens must come once, whichever side of it gets it.
            const posting = step.kind === 'race' ? post() : undefined;
            stream = await open({ header: old.id });
            at = old.before;
            if (posting !== undefined) posted.push(await posting);
          }
        }
        await read(posted.length);
        posted.push(await post());
        await read(1);
        await stream.close();
      }),
      { numRuns: 25 },
    );
  });
});
