import { PRODUCT, type Running } from '../contestants.ts';
import { figure } from '../report/markdown.ts';
import { progress } from '../report/results.ts';
import { costOf, deliver, type Idle, idle } from './deliver.ts';
import { people, type RunPart } from './part.ts';
import { ALONE, BARE, FEW, gather, PRE_FRAMED, type Scene, SELECTIONS, senderOf, start } from './scene.ts';
import { type Measured, report, type Setting } from './steady-report.ts';

/** How long each is measured, and what it spends without events. */
interface Times {
  readonly idleMs: number;
  readonly eventsMs: number;
}

const ROUNDS = 3;
const USUAL: Times = { idleMs: 3_000, eventsMs: 10_000 };
/** What the service does every so often for each open stream, it does once or more within this time. */
const OF_MANY: Times = { idleMs: 15_000, eventsMs: 15_000 };
const QUICK: Times = { idleMs: 500, eventsMs: 1_500 };
/** What the service does that shares nothing. */
const SLOW = { subscribers: FEW, perSecond: 1, events: 3 };

const settingsOf = ({ many }: Scene): Setting[] =>
  [...new Set([FEW, many])].flatMap((subscribers) =>
    SELECTIONS.map((selection) => ({ subscribers, selection, perSecond: subscribers === FEW ? 10 : 2 })),
  );

/** What each server spends without events, by its name and the number of subscribers: measured once. */
type Idles = Map<string, Idle>;

interface MeasureOptions {
  readonly running: Running;
  readonly setting: Setting;
  readonly events: number;
  readonly idleMs: number;
  readonly idles: Idles;
}

async function measure(
  scene: Scene,
  { running, setting, events, idleMs, idles }: MeasureOptions,
): Promise<Measured> {
  const { subscribers, selection, perSecond } = setting;
  const { server, contestant } = running;
  const { name } = contestant;
  const sender = await senderOf(scene, running, selection);
  return gather(scene, { running, subscribers, selections: [selection], sender }, async () => {
    const entry = `${name} ${subscribers}`;
    const spent = idles.get(entry) ?? (await idle(server, idleMs));
    idles.set(entry, spent);
    const delivery = await deliver({ server, crowd: scene.crowd, subscribers, sender, events, perSecond });
    const cost = costOf(delivery, spent);
    const { p50Ms, p99Ms } = delivery.lags;
    progress(
      `${name}, ${people(subscribers)} × ${selection}: ${figure(cost.cpuUs)} µs a delivery (idle ${figure(spent.cpuMs * 1000)} ms a second), lag p50 ${figure(p50Ms)} ms, p99 ${figure(p99Ms)} ms`,
    );
    return { ...setting, name, cost, delivery };
  });
}

/** The other way round in every second round. Nothing is aimed at by the pre-framed one: one round tells enough. */
function turnsOf(round: number, running: readonly Running[]): Running[] {
  const turn = running.filter(({ contestant }) => round === 0 || contestant !== PRE_FRAMED);
  return round % 2 === 0 ? turn : turn.reverse();
}

function timesOf({ quick }: Scene, { contestant }: Running, { subscribers }: Setting): Times {
  if (quick) return QUICK;
  return contestant === PRODUCT && subscribers > FEW ? OF_MANY : USUAL;
}

async function measureAll(scene: Scene, cleanup: AsyncDisposableStack): Promise<Measured[]> {
  const running = [await start(cleanup, scene, BARE), await start(cleanup, scene, PRE_FRAMED), scene.service];
  const measured: Measured[] = [];
  const idles: Idles = new Map();
  for (const setting of settingsOf(scene))
    for (let round = 0; round < (scene.quick ? 1 : ROUNDS); round += 1)
      for (const entry of turnsOf(round, running)) {
        const { idleMs, eventsMs } = timesOf(scene, entry, setting);
        const events = Math.round((setting.perSecond * eventsMs) / 1000);
        measured.push(await measure(scene, { running: entry, setting, events, idleMs, idles }));
      }
  const alone = await start(cleanup, scene, ALONE);
  for (const selection of scene.quick ? [SELECTIONS[1]] : SELECTIONS) {
    const setting = { ...SLOW, selection };
    const { idleMs } = timesOf(scene, alone, setting);
    const { events } = SLOW;
    measured.push(await measure(scene, { running: alone, setting, events, idleMs, idles }));
  }
  return measured;
}

/** Events at a steady rate: what a delivery costs the server, and how late it comes. */
export const steady: RunPart = async (scene, cleanup) => {
  const measured = await measureAll(scene, cleanup);
  const slow = `${SLOW.events} events, ${SLOW.perSecond} a second`;
  return report(
    measured,
    settingsOf(scene),
    `10 events a second for ${people(FEW)} subscribers, 2 for more, median of ${scene.quick ? 1 : ROUNDS} rounds; pre-framed in the first one, with sharing off ${slow}.`,
  );
};
