import { figure, table } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { costOf, deliver, idle } from './deliver.ts';
import { type Aim, type Part, people, type RunPart } from './part.ts';
import { ACCOUNTS, gather, SELECTIONS } from './scene.ts';
import { directSender } from './sender.ts';

const PER_SECOND = 2;
/** The credentials of each stream are checked once in this time. */
const WINDOW_MS = 15_000;
const QUICK_WINDOW_MS = 1_500;
const MAX_STATEMENTS = 5;

/** Subscribers of one account, and of many. */
export const accounts: RunPart = async (scene): Promise<Part> => {
  const running = scene.service;
  const { server } = running;
  const windowMs = scene.quick ? QUICK_WINDOW_MS : WINDOW_MS;
  const rows: string[][] = [];
  const aims: Aim[] = [];
  for (const count of [1, ACCOUNTS]) {
    const sender = directSender(scene.workspace);
    const subscribers = scene.many;
    const keys = scene.keys.slice(0, count);
    const gathering = { running, subscribers, selections: [SELECTIONS[1]], keys, sender };
    await gather(scene, gathering, async () => {
      const spent = await idle(server, windowMs);
      const events = (PER_SECOND * windowMs) / 1000;
      const delivery = await deliver({
        server,
        crowd: scene.crowd,
        subscribers,
        sender,
        events,
        perSecond: PER_SECOND,
      });
      const { cpuUs, statementsAnEvent } = costOf(delivery, spent);
      rows.push([
        people(count),
        figure(statementsAnEvent),
        figure(cpuUs),
        figure(spent.statements * 1000),
        figure(spent.cpuMs * 1000),
      ]);
      aims.push({
        what: `statements an event, ${people(subscribers)} subscribers of ${people(count)} account${count === 1 ? '' : 's'}`,
        most: MAX_STATEMENTS,
        measured: statementsAnEvent,
      });
      progress(`accounts: ${(rows.at(-1) ?? []).join(' | ')}`);
    });
  }
  const text = [
    '### Accounts',
    `The service with ${people(scene.many)} subscribers that ask for \`${SELECTIONS[1]}\`, a key for each account; ${PER_SECOND} events a second, written by another process. An event’s statements are those beyond what the service sends as often without events.`,
    table(
      [
        'accounts',
        'statements an event',
        'CPU, µs a delivery',
        'statements a second without events',
        'CPU, ms a second without events',
      ],
      rows,
    ),
  ].join('\n\n');
  return { text, aims };
};
