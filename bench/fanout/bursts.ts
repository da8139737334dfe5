import { PRODUCT, type Running } from '../contestants.ts';
import { median } from '../harness/load.ts';
import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { costOf, type Delivery, deliver } from './deliver.ts';
import { type Aim, type Part, people, type RunPart } from './part.ts';
import {
  BARE,
  FEW,
  gather,
  PRE_FRAMED,
  type Scene,
  SELECTIONS,
  type Selection,
  senderOf,
  start,
} from './scene.ts';

const EVENTS = 100;
const BURSTS = 3;
const QUICK_BURSTS = 1;
const MAX_CPU = 0.1;
/** It lasts too short for what the service does every so often to matter. */
const NOTHING = { cpuMs: 0, statements: 0 };

/** A server, and whether it writes all events in one turn of the event loop. */
interface Entry {
  readonly name: string;
  readonly running: Running;
  readonly together: boolean;
}

interface Setting {
  readonly subscribers: number;
  readonly selection: Selection;
}

interface Row extends Setting {
  readonly name: string;
  readonly cpuUs: number;
  readonly untilLastMs: number;
  readonly statementsAnEvent: number;
}

/** Both selections where a burst is short; where it takes seconds, the one that costs the service more. */
const settingsOf = ({ many, quick }: Scene): Setting[] =>
  quick
    ? [{ subscribers: many, selection: SELECTIONS[1] }]
    : [
        ...SELECTIONS.map((selection) => ({ subscribers: FEW, selection })),
        ...(many > FEW ? [{ subscribers: many, selection: SELECTIONS[1] }] : []),
      ];

/** One write for each delivery takes so long with many subscribers that one burst tells enough. */
function burstsOf({ quick }: Scene, { running, together }: Entry, { subscribers }: Setting): number {
  if (quick) return QUICK_BURSTS;
  return subscribers > FEW && running.contestant !== PRODUCT && !together ? 1 : BURSTS;
}

async function measure(scene: Scene, entry: Entry, setting: Setting): Promise<Row> {
  const { name, running, together } = entry;
  const { subscribers, selection } = setting;
  const { server } = running;
  const sender = await senderOf(scene, running, selection, together);
  const bursts: Delivery[] = [];
  await gather(scene, { running, subscribers, selections: [selection], sender }, async () => {
    while (bursts.length < burstsOf(scene, entry, setting))
      bursts.push(await deliver({ server, crowd: scene.crowd, subscribers, sender, events: EVENTS }));
  });
  const costs = bursts.map((delivery) => costOf(delivery, NOTHING));
  const row = {
    ...setting,
    name,
    cpuUs: median(costs.map(({ cpuUs }) => cpuUs)),
    untilLastMs: median(bursts.map(({ untilLastMs }) => untilLastMs)),
    statementsAnEvent: median(costs.map(({ statementsAnEvent }) => statementsAnEvent)),
  };
  progress(
    `${name}, ${people(subscribers)} × ${selection}: a burst took ${figure(row.untilLastMs)} ms, ${figure(row.cpuUs)} µs a delivery`,
  );
  return row;
}

/** Many events committed at once. */
export const bursts: RunPart = async (scene, cleanup): Promise<Part> => {
  const bare = await start(cleanup, scene, BARE);
  const entries: Entry[] = [
    { name: BARE.name, running: bare, together: false },
    { name: 'bare, all in one turn', running: bare, together: true },
    { name: PRE_FRAMED.name, running: await start(cleanup, scene, PRE_FRAMED), together: false },
    { name: PRODUCT.name, running: scene.service, together: false },
  ];
  const aims: Aim[] = [];
  const rows: string[][] = [];
  for (const setting of settingsOf(scene)) {
    const measured: Row[] = [];
    for (const entry of entries) measured.push(await measure(scene, entry, setting));
    const floor = measured[0]?.cpuUs ?? Number.NaN;
    for (const { name, subscribers, selection, cpuUs, untilLastMs, statementsAnEvent } of measured) {
      const ofService = name === PRODUCT.name;
      const what = `CPU ÷ bare in bursts, ${people(subscribers)} × \`${selection}\``;
      if (ofService) aims.push({ what, most: MAX_CPU, measured: cpuUs / floor });
      rows.push([
        people(subscribers),
        `\`${selection}\``,
        name,
        figure(cpuUs),
        figure(cpuUs / floor),
        figure(untilLastMs),
        ofService ? figure(statementsAnEvent) : '–',
      ]);
    }
  }
  const text = [
    '### In bursts',
    `${EVENTS} events at once, median of ${scene.quick ? QUICK_BURSTS : BURSTS} bursts, where a burst takes many seconds of one: for the service one transaction of another process and a NOTIFY; the bare servers give each event a turn of the event loop, or all of them the same one, where Node puts the writes of a response together.`,
    table(
      [
        'subscribers',
        'selection',
        'server',
        'CPU, µs a delivery',
        '÷ bare',
        'until the last delivery, ms',
        'statements an event',
      ],
      rows,
    ),
  ].join('\n\n');
  return { text, aims };
};
