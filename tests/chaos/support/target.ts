import type { Exit } from '../../support/processes/process.ts';
import type { Instance } from './instance.ts';
import { inTime } from './waiting.ts';

/** An instance as its clients see it: there, told to stop, or gone until it is started again. */
export class Target {
  readonly name: string;
  readonly port: number;
  readonly #instance: Instance;
  #up = Promise.withResolvers<void>();
  #starts = 0;
  #stopping = true;
  /** How each of its processes so far has ended, and what it had said. */
  readonly ended: Exit[] = [];

  constructor(name: string, instance: Instance) {
    this.name = name;
    this.#instance = instance;
    this.port = Number(new URL(instance.origin).port);
  }

  get origin(): string {
    return this.#instance.origin;
  }

  /** Resolves once it is there, at once where it is. */
  get up(): Promise<void> {
    return this.#up.promise;
  }

  /** Names the present process; undefined where it is told to stop or gone: it owes nobody a connection then. */
  get serving(): number | undefined {
    return this.#stopping ? undefined : this.#starts;
  }

  /** Lines with which its processes have said that something went wrong: errors in the log, and what is no log at all. */
  get alarms(): string[] {
    return this.ended
      .flatMap(({ stdout, stderr }) => `${stdout}${stderr}`.split('\n'))
      .filter((line) => line !== '' && !/^\{"level":[1-4]0,/.test(line));
  }

  async start(): Promise<void> {
    await this.#instance.start();
    this.#starts += 1;
    this.#stopping = false;
    this.#up.resolve();
  }

  async stop(signal: NodeJS.Signals): Promise<Exit> {
    this.#stopping = true;
    const exit = await inTime(
      this.#instance.stop(signal),
      () => `the end of instance ${this.name} after ${signal}`,
    );
    this.#up = Promise.withResolvers();
    this.ended.push(exit);
    return exit;
  }

  async restart(signal: NodeJS.Signals): Promise<void> {
    const { code } = await this.stop(signal);
    if (signal === 'SIGTERM' && code !== 0)
      throw new Error(`instance ${this.name} ended with ${code} instead of 0`);
    await this.start();
  }
}
