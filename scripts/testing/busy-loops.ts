import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';

/** Keeps every core busy until `stop` is called. The loops end with this process, also if it is killed. */
export function startBusyLoops(): { stop(): Promise<void> } {
  // The pipe closes when the parent exits, whatever ends it.
  const loop =
    'process.stdin.resume().on("end", () => process.exit()); setInterval(() => { for (const end = Date.now() + 95; Date.now() < end; ); }, 100)';
  const children: ChildProcess[] = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', loop], { stdio: ['pipe', 'ignore', 'ignore'] }),
  );
  return {
    async stop() {
      await Promise.all(
        children.map(async (child) => {
          const closed = once(child, 'close');
          child.stdin?.end();
          await closed;
        }),
      );
    },
  };
}
