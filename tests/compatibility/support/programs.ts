import { chmod } from 'node:fs/promises';
import { freePort, start, until } from '../../../scripts/cluster/processes.ts';
import type { ProxyPlace } from './proxy-row.ts';

/** Only ends a start that hangs. */
const LIMIT_MS = 120_000;

/** Starts a proxy that is a program. @returns its origin */
export async function startProgram(
  file: string,
  { folder, keep }: ProxyPlace,
  argumentsFor: (port: number) => readonly string[] | Promise<readonly string[]>,
): Promise<string> {
  const port = await freePort();
  // Some programs run as another user.
  await chmod(folder, 0o755);
  const service = start({ file, args: await argumentsFor(port), cwd: folder, env: { HOME: folder } });
  keep(() => service.stop());
  const origin = `http://127.0.0.1:${port}`;
  const isReady = async () => (await fetch(`${origin}/health/ready`)).ok;
  await until(file, isReady, { service, signal: AbortSignal.timeout(LIMIT_MS) });
  return origin;
}
