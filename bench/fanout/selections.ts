import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { costOf, deliver, idle } from './deliver.ts';
import { type Part, people, type RunPart } from './part.ts';
import { FEW, gather } from './scene.ts';
import { directSender } from './sender.ts';

const DISTINCT = [1, 10, 100];
const PER_SECOND = 10;
const EVENTS = 50;
const QUICK_EVENTS = 10;
const IDLE_MS = 3_000;
const QUICK_IDLE_MS = 500;

/** An alias of its own makes a selection another one. */
const selectionsOf = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `{ id t${index}: title author { name } }`);

/** Subscribers who do not all ask for the same. */
export const selections: RunPart = async (scene): Promise<Part> => {
  const running = scene.service;
  const { server } = running;
  const rows: string[][] = [];
  for (const distinct of DISTINCT) {
    const sender = directSender(scene.workspace);
    const gathering = { running, subscribers: FEW, selections: selectionsOf(distinct), sender };
    const { cpuUs, statementsAnEvent } = await gather(scene, gathering, async () => {
      const spent = await idle(server, scene.quick ? QUICK_IDLE_MS : IDLE_MS);
      const delivery = await deliver({
        server,
        crowd: scene.crowd,
        subscribers: FEW,
        sender,
        events: scene.quick ? QUICK_EVENTS : EVENTS,
        perSecond: PER_SECOND,
      });
      return costOf(delivery, spent);
    });
    rows.push([`${distinct}`, figure(cpuUs), figure(statementsAnEvent)]);
    progress(`distinct selections: ${(rows.at(-1) ?? []).join(' | ')}`);
  }
  const text = [
    '### Distinct selections',
    `The service with ${people(FEW)} subscribers whose selections \`{ id t: title author { name } }\` differ in an alias; ${PER_SECOND} events a second, written by another process.`,
    table(['distinct selections', 'CPU, µs a delivery', 'statements an event'], rows),
  ].join('\n\n');
  return { text, aims: [] };
};
