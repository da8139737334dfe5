import { freePort } from '../../../scripts/cluster/processes.ts';
import { type Exit, type Process, runScript, type Settings } from '../../support/processes/process.ts';
import { UNTHROTTLED } from '../../support/settings.ts';

/** One instance of the service, on the same address however often it is killed and started again. */
export interface Instance {
  readonly origin: string;
  start(): Promise<void>;
  /** Sends it a signal that ends it, and waits until it has ended. */
  stop(signal: NodeJS.Signals): Promise<Exit>;
  /** Kills it with SIGKILL and starts it again. */
  restart(): Promise<void>;
}

export async function createInstance(settings: Settings): Promise<Instance> {
  const port = await freePort();
  let process: Process;
  async function start(): Promise<void> {
    process = runScript('src/main.ts', [], {
      ...UNTHROTTLED,
      MAX_STREAMS_PER_CLIENT: '1000',
      LOG_LEVEL: 'info',
      ...settings,
      PORT: String(port),
    });
    await process.printed(/service\.started/);
  }
  function stop(signal: NodeJS.Signals): Promise<Exit> {
    process.kill(signal);
    return process.exited;
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    start,
    stop,
    async restart() {
      await stop('SIGKILL');
      await start();
    },
  };
}
