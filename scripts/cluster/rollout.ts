import { setTimeout as delay } from 'node:timers/promises';
import type { Instance } from './instances.ts';

/** nginx tries an instance again this long after it could not connect to it. */
const BACK_IN_ROTATION_MS = 2_500;

type Say = (text: string) => void;

export const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

/** When an instance was stopping, in milliseconds of the monotonic clock. */
export interface Stop {
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Replaces one instance after the other: each stops in order and its successor is ready before the next stops. */
export async function roll(instances: readonly Instance[], checkout: string, say: Say): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (const instance of instances) {
    const startedMs = performance.now();
    const code = await instance.stop();
    const endedMs = performance.now();
    stops.push({ startedMs, endedMs });
    if (code !== 0) throw new Error(`${instance.name} exited with ${code}`);
    const readyMs = await instance.start(checkout);
    say(
      `   ${instance.name}: stopped in ${seconds(endedMs - startedMs)}, its successor was ready after ${seconds(readyMs)}`,
    );
    await delay(BACK_IN_ROTATION_MS);
  }
  return stops;
}

/** When a process was killed, in milliseconds of the monotonic clock. */
export interface Death {
  readonly signalledMs: number;
  /** When it was known to be gone. */
  readonly goneMs: number;
}

/** Kills an instance and starts it again. */
export async function kill(instance: Instance, checkout: string, say: Say): Promise<Death> {
  const signalledMs = performance.now();
  await instance.stop('SIGKILL');
  const goneMs = performance.now();
  const readyMs = await instance.start(checkout);
  say(`   ${instance.name} is ready again after ${seconds(readyMs)}`);
  return { signalledMs, goneMs };
}
