import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { type Process, until } from './process.ts';

/** How often a command is killed, each time at another moment of its work. */
export const KILLS = Number(process.env.KILLS ?? 20);

const isOver = ({ pid }: Process) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

/** How long a command works from the moment at which `begun` is true, in milliseconds. */
export async function workOf(command: Process, begun: () => boolean): Promise<number> {
  await until('its beginning', begun);
  const sinceMs = performance.now();
  expect((await command.exited).code).toBe(0);
  return performance.now() - sinceMs;
}

/** Moments of some work for so many kills, spread over its time. A machine may be quicker than when that was measured. */
export class Moments {
  #killed = 0;
  #workMs: number;

  constructor(workMs: number) {
    this.#workMs = workMs;
  }

  get left(): boolean {
    return this.#killed < KILLS;
  }

  nextMs(): number {
    return (this.#killed / KILLS) * this.#workMs;
  }

  /** `ended`: the work was done before. */
  was({ ended }: { readonly ended: boolean }): void {
    if (ended) this.#workMs *= 0.8;
    else this.#killed += 1;
  }
}

/** Kills a command at a moment of its work. Returns whether it had ended before. */
export async function killAt(command: Process, begun: () => boolean, afterMs: number): Promise<boolean> {
  await until('its beginning', () => begun() || isOver(command));
  await delay(afterMs);
  if (isOver(command)) return true;
  process.kill(command.pid, 'SIGKILL');
  return (await command.exited).signal !== 'SIGKILL';
}
