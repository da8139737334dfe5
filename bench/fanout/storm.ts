import { setTimeout as delay } from 'node:timers/promises';
import type { Running } from '../contestants.ts';
import { machineMs } from '../harness/machine-time.ts';
import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { type Aim, type Part, people, type RunPart } from './part.ts';
import { ACCOUNTS, gather, requestsFor, type Scene, SELECTIONS } from './scene.ts';
import { directSender } from './sender.ts';

const MISSED_EVENTS = 50;
/** For the server to see that all have gone. */
const GONE_MS = 1_000;
const REHEARSAL = 500;
const MAX_STATEMENTS = 1_000;
const MAX_LIVE_SECONDS = 10;

interface Storm {
  readonly statements: number;
  readonly liveSeconds: number;
  readonly receivedSeconds: number;
  readonly cpuSeconds: number;
  readonly retries: number;
}

async function reconnect(scene: Scene, { server }: Running, keys: readonly string[]): Promise<Storm> {
  const { crowd, many: subscribers } = scene;
  const requests = requestsFor([SELECTIONS[1]], keys);
  const gathering = { port: server.port, subscribers, requests };
  // None of them sees an event before it goes: the id that each resumes from is that of its first block.
  await crowd.expect(subscribers, 0);
  await crowd.connect(gathering);
  await crowd.disconnect();
  await directSender(scene.workspace).burst(MISSED_EVENTS);
  await delay(GONE_MS);
  await crowd.expect(subscribers, MISSED_EVENTS);
  const before = await server.usage();
  const startMs = machineMs();
  const { elapsedMs, retries } = await crowd.connect({ ...gathering, atOnce: subscribers, resume: true });
  const { lastMs } = await crowd.received();
  const after = await server.usage();
  await crowd.disconnect();
  return {
    statements: after.statements - before.statements,
    liveSeconds: elapsedMs / 1000,
    receivedSeconds: (lastMs - startMs) / 1000,
    cpuSeconds: (after.cpuMs - before.cpuMs) / 1000,
    retries,
  };
}

/** All subscribers come back at once, as after a restart of a proxy. */
export const storm: RunPart = async (scene): Promise<Part> => {
  const running = scene.service;
  const sender = directSender(scene.workspace);
  const rehearsal = { running, subscribers: REHEARSAL, selections: [SELECTIONS[1]], sender };
  await gather(scene, rehearsal, async () => undefined);
  const rows: string[][] = [];
  const aims: Aim[] = [];
  for (const accounts of [1, ACCOUNTS]) {
    const measured = await reconnect(scene, running, scene.keys.slice(0, accounts));
    const { statements, liveSeconds, receivedSeconds, cpuSeconds, retries } = measured;
    rows.push([
      people(accounts),
      `${statements}`,
      figure(liveSeconds),
      figure(receivedSeconds),
      figure(cpuSeconds),
      `${retries}`,
    ]);
    progress(`storm: ${(rows.at(-1) ?? []).join(' | ')}`);
    const whose = `${people(scene.many)} subscribers of ${people(accounts)} account${accounts === 1 ? '' : 's'}`;
    aims.push(
      { what: `statements of a storm, ${whose}`, most: MAX_STATEMENTS, measured: statements },
      { what: `seconds until all are live, ${whose}`, most: MAX_LIVE_SECONDS, measured: liveSeconds },
    );
  }
  const text = [
    '### A storm of reconnects',
    `${people(scene.many)} subscribers of the service disconnect, ${MISSED_EVENTS} events are written, and all connect at once with the id that they were given. Statements and CPU from the first connection until all have received the events; who is refused tries again after a second.`,
    table(
      [
        'accounts',
        'statements',
        'until all are live, s',
        'until all have the events, s',
        'CPU, s',
        'tried again',
      ],
      rows,
    ),
  ].join('\n\n');
  return { text, aims };
};
