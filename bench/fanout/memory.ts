import { setTimeout as delay } from 'node:timers/promises';
import { type Contestant, PRODUCT } from '../contestants.ts';
import type { Memory } from '../harness/server-process.ts';
import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { type Part, people, type RunPart } from './part.ts';
import { BARE, gather, type Scene, SELECTIONS, senderOf, start } from './scene.ts';

/** A server's first subscribers have it compile and reserve what it keeps, which would be told of the others. */
const REHEARSAL = 500;
const QUIET_MS = 500;
const MAX_ABOVE_BARE_KB = 10;
const MAX_HEAP_KB = 9;
const KB = 1024;

/** What a subscriber holds, in bytes. */
async function measure(scene: Scene, cleanup: AsyncDisposableStack, contestant: Contestant): Promise<Memory> {
  const [selection] = SELECTIONS;
  const running = await start(cleanup, scene, contestant, ['--expose-gc']);
  const { server } = running;
  const withSubscribers = async (subscribers: number, work: () => Promise<Memory>) => {
    const sender = await senderOf(scene, running, selection);
    return gather(scene, { running, subscribers, selections: [selection], sender }, async () => {
      await delay(QUIET_MS);
      return work();
    });
  };
  await withSubscribers(REHEARSAL, server.memory);
  const before = await server.memory();
  const after = await withSubscribers(scene.many, server.memory);
  await server.stop();
  const perSubscriber = {
    rssBytes: (after.rssBytes - before.rssBytes) / scene.many,
    heapBytes: (after.heapBytes - before.heapBytes) / scene.many,
  };
  progress(
    `${contestant.name}: ${figure(perSubscriber.rssBytes / KB)} KB a subscriber, live heap ${figure(perSubscriber.heapBytes / KB)} KB`,
  );
  return perSubscriber;
}

/** What an idle subscriber holds in the server. */
export const memory: RunPart = async (scene, cleanup): Promise<Part> => {
  const bare = await measure(scene, cleanup, BARE);
  const product = await measure(scene, cleanup, PRODUCT);
  const row = (name: string, { rssBytes, heapBytes }: Memory) => [
    name,
    figure(rssBytes / KB),
    figure((rssBytes - bare.rssBytes) / KB),
    figure(heapBytes / KB),
    figure((heapBytes - bare.heapBytes) / KB),
  ];
  const text = [
    '### Memory',
    `Of ${people(scene.many)} subscribers, after some events and a collection, beyond what the process held after ${REHEARSAL} subscribers had come and gone.`,
    table(
      ['server', 'resident, KB a subscriber', 'above bare', 'live heap, KB a subscriber', 'above bare'],
      [row(BARE.name, bare), row(PRODUCT.name, product)],
    ),
  ].join('\n\n');
  return {
    text,
    aims: [
      {
        what: 'resident memory a subscriber above bare, KB',
        most: MAX_ABOVE_BARE_KB,
        measured: (product.rssBytes - bare.rssBytes) / KB,
      },
      { what: 'live heap a subscriber, KB', most: MAX_HEAP_KB, measured: product.heapBytes / KB },
    ],
  };
};
