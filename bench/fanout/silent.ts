import { setTimeout as delay } from 'node:timers/promises';
import { PRODUCT } from '../contestants.ts';
import { getRequest } from '../harness/connection.ts';
import { once } from '../harness/load.ts';
import { peakBytes, resetPeak, residentBytes } from '../harness/process-time.ts';
import { figure, megabytes, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { startCrowd } from './crowd.ts';
import { type Delivery, deliver } from './deliver.ts';
import { type Part, people, type RunPart } from './part.ts';
import { FEW, gather, requestsFor, SELECTIONS, start } from './scene.ts';
import { postSender } from './sender.ts';

const SILENT = 300;
const SELECTION = '{ title body }';
const BODY = 'Twenty kilobytes of a body. '.repeat(732);
const PER_SECOND = 20;
const ALONE_EVENTS = 100;
/** More than what the kernel takes for a connection, 4 MB, and the service, 1 MB. */
const EVENTS = 400;
const QUICK_EVENTS = 30;
/** Longer than the service waits for a reader that has too much unread. */
const AFTERWARDS_MS = 12_000;
const QUICK_AFTERWARDS_MS = 1_000;
const METRICS = getRequest('/metrics', {});

async function cutOff(port: number): Promise<number> {
  const { text } = await once(port, METRICS);
  const value = /^event_streams_cut_off_total (\d+)/m.exec(text)?.[1];
  if (value === undefined) throw new Error('the metrics do not tell how many streams were cut off');
  return Number(value);
}

/** Subscribers who never read what they have asked for, beside those who do. */
export const silent: RunPart = async (scene, cleanup): Promise<Part> => {
  const running = await start(cleanup, scene, PRODUCT);
  const { server } = running;
  const { crowd, workspace, quick } = scene;
  const [key = ''] = workspace.keys;
  // Of another account: what one leaves unread is held against all that it asks for.
  const silentKeys = scene.keys.slice(-1);
  const sender = await postSender({ ...workspace, port: server.port, key, body: BODY });
  const gathering = { running, subscribers: FEW, selections: [SELECTIONS[0]], sender };
  const part = await gather(scene, gathering, async () => {
    const receive = (events: number) =>
      deliver({ server, crowd, subscribers: FEW, sender, events, perSecond: PER_SECOND });
    const alone = await receive(quick ? QUICK_EVENTS / 3 : ALONE_EVENTS);
    const others = await startCrowd(cleanup);
    await others.expect(SILENT, 0);
    await others.connect({
      port: server.port,
      subscribers: SILENT,
      requests: requestsFor([SELECTION], silentKeys),
      silent: true,
    });
    resetPeak(server.pid);
    const beforeBytes = residentBytes(server.pid);
    const beside = await receive(quick ? QUICK_EVENTS : EVENTS);
    await delay(quick ? QUICK_AFTERWARDS_MS : AFTERWARDS_MS);
    const grown = peakBytes(server.pid) - beforeBytes;
    const gone = await cutOff(server.port);
    await others.disconnect();
    return { alone, beside, grown, gone };
  });
  const row = (name: string, { events, lags: { p50Ms, p99Ms, longestMs } }: Delivery) => [
    name,
    `${events}`,
    ...[p50Ms, p99Ms, longestMs].map(figure),
  ];
  progress(`silent: ${part.gone} cut off, ${megabytes(part.grown)} more memory`);
  const text = [
    '### Subscribers that do not read',
    `${people(FEW)} subscribers of the service read \`${SELECTIONS[0]}\`, without and with ${SILENT} that ask for \`${SELECTION}\` and read nothing; ${PER_SECOND} posts of ${(BODY.length / 1000).toFixed(0)} KB a second. ${part.gone} of those ${SILENT} were cut off, and the server’s resident memory grew by ${megabytes(part.grown)} at most.`,
    table(
      ['that do not read', 'events', 'lag p50 of the readers, ms', 'lag p99, ms', 'longest, ms'],
      [row('none', part.alone), row(`${SILENT}`, part.beside)],
    ),
  ].join('\n\n');
  return { text, aims: [] };
};
