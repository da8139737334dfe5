import { join } from 'node:path';
import { translateSettings } from './old-version.ts';
import { type Command, run, type Service, start, until } from './processes.ts';

/** What every instance of a cluster has in common. */
export interface ClusterSettings {
  /** The settings, as environment variables. */
  readonly env: Readonly<Record<string, string>>;
  /** A folder that instances may write to. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

/** A program of the service's checkout in a folder, with the settings of the cluster under the names that it knows. */
function programOf(
  checkout: string,
  file: string,
  args: string[],
  { env, folder }: ClusterSettings,
): Command {
  return {
    file: process.execPath,
    args: [join(checkout, file), ...args],
    cwd: folder,
    env: translateSettings(checkout, env),
  };
}

/** Runs an administration command of a checkout. Returns what it prints. */
export function admin(checkout: string, settings: ClusterSettings, ...args: string[]): Promise<string> {
  return run(programOf(checkout, 'src/admin/main.ts', args, settings));
}

/** One instance, on a port that stays the same when its process is replaced. */
export class Instance {
  readonly name: string;
  readonly port: number;
  readonly #settings: ClusterSettings;
  #service: Service | undefined;

  constructor(name: string, port: number, settings: ClusterSettings) {
    this.name = name;
    this.port = port;
    this.#settings = settings;
  }

  /** Starts the version in this checkout. Resolves once it is ready, with the time that took in milliseconds. */
  async start(checkout: string): Promise<number> {
    const { env, signal } = this.#settings;
    const startedMs = performance.now();
    const settings = { ...this.#settings, env: { ...env, PORT: String(this.port) } };
    const service = start(programOf(checkout, 'src/main.ts', [], settings));
    this.#service = service;
    const ready = async () => (await fetch(`http://127.0.0.1:${this.port}/health/ready`)).ok;
    await until(this.name, ready, { service, signal });
    return performance.now() - startedMs;
  }

  /** Resolves to the exit code; null if a signal ended it. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    return (await this.#service?.stop(signal)) ?? null;
  }
}
