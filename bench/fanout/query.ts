import { postRequest } from '../harness/connection.ts';
import { openLoop, quantile } from '../harness/load.ts';
import { beforeOthers } from '../harness/priority.ts';
import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { deliver } from './deliver.ts';
import { type Part, people, type RunPart } from './part.ts';
import { gather, SELECTIONS, senderOf } from './scene.ts';

const QUERY = '{ viewer { name } }';
/** No multiple of the events, so that queries come at any moment of theirs. */
const PER_SECOND = 51.3;
const CONNECTIONS = 4;
const EVENTS_PER_SECOND = 2;
const TURNS = 2;
const TURN_MS = 10_000;
const QUICK_TURN_MS = 2_000;
const WARM_UP_MS = 1_000;
const MAX_RATIO = 3;

/** A cheap query of somebody else, without and with subscribers who receive events. */
export const query: RunPart = async (scene): Promise<Part> => {
  const running = scene.service;
  const { server } = running;
  const { many: subscribers, crowd, workspace } = scene;
  const turnMs = scene.quick ? QUICK_TURN_MS : TURN_MS;
  const [key = ''] = workspace.keys;
  const load = {
    port: server.port,
    requests: [postRequest('/graphql', { query: QUERY }, { authorization: `Bearer ${key}` })],
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
  };
  const ask = (durationMs: number) => beforeOthers(() => openLoop({ ...load, durationMs }));
  await ask(WARM_UP_MS);
  const alone: number[] = [];
  const beside: number[] = [];
  for (let turn = 0; turn < (scene.quick ? 1 : TURNS); turn += 1) {
    alone.push(...(await ask(turnMs)).latencies);
    const sender = await senderOf(scene, running, SELECTIONS[1]);
    await gather(scene, { running, subscribers, selections: [SELECTIONS[1]], sender }, async () => {
      const events = Math.round((EVENTS_PER_SECOND * turnMs) / 1000);
      const [{ latencies }] = await Promise.all([
        ask(turnMs),
        deliver({ server, crowd, subscribers, sender, events, perSecond: EVENTS_PER_SECOND }),
      ]);
      beside.push(...latencies);
    });
    progress(`query: turn ${turn + 1}`);
  }
  const at = (latencies: readonly number[], q: number) =>
    quantile(
      latencies.toSorted((a, b) => a - b),
      q,
    );
  const row = (name: string, latencies: readonly number[]) => [
    name,
    `${latencies.length}`,
    figure(at(latencies, 0.5)),
    figure(at(latencies, 0.99)),
    figure(at(latencies, 1)),
  ];
  const ratio = at(beside, 0.99) / at(alone, 0.99);
  const text = [
    '### A cheap query beside',
    `\`${QUERY}\`, ${PER_SECOND} a second, of a client with a key, in turns: without any subscriber, and beside ${people(subscribers)} who receive ${EVENTS_PER_SECOND} events a second. p99 beside ÷ without: ${figure(ratio)}.`,
    table(
      ['subscribers', 'queries', 'p50, ms', 'p99, ms', 'longest, ms'],
      [row('none', alone), row(people(subscribers), beside)],
    ),
  ].join('\n\n');
  return {
    text,
    aims: [{ what: `p99 of a cheap query ÷ idle, ${people(subscribers)}`, most: MAX_RATIO, measured: ratio }],
  };
};
