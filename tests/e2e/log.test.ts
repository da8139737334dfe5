import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { commitOf } from '../../src/platform/process.ts';
import { linesOf } from '../support/log-lines.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT, until } from '../support/processes/process.ts';
import { productionSettings, startServer } from '../support/processes/server.ts';

const REQUESTS = 200;

/** A server that has answered many requests, each with an id of its own. */
async function responded() {
  const server = await startServer(await migratedFolder(), productionSettings());
  const ids = Array.from({ length: REQUESTS }, (_, index) => `request-${index}`);
  for (const id of ids) await fetch(`${server.origin}/nowhere`, { headers: { 'x-request-id': id } });
  return { server, ids };
}

const loggedIds = (output: string) =>
  linesOf(output.split('\n').slice(0, -1), 'http.request').map(({ requestId }) => requestId);

describe('the log of a process', () => {
  it('begins with the version and the commit, whatever its first line says', async () => {
    const server = await startServer(await migratedFolder(), productionSettings());
    const [first, ...others] = server.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(first).toMatchObject({ version: packageJson.version, commit: commitOf(ROOT) });
    for (const line of others) expect(line).not.toHaveProperty('version');
  });

  it('lacks no line after SIGTERM', async () => {
    const { server, ids } = await responded();
    server.kill('SIGTERM');
    const { stdout } = await server.exited;
    expect(loggedIds(stdout)).toEqual(ids);
    expect(linesOf(stdout.trim().split('\n'), 'service.stopped')).toHaveLength(1);
  });

  it('has the warnings of Node.js and of libraries, and standard error stays empty', async () => {
    const script = encodeURIComponent("process.on('SIGUSR2', () => process.emitWarning('an odd call'))");
    const server = await startServer(await migratedFolder(), {
      ...{ ...productionSettings(), NODE_OPTIONS: `--import=data:text/javascript,${script}` },
    });
    server.kill('SIGUSR2');
    await until(
      'the warning',
      () => linesOf(server.stdout.split('\n').slice(0, -1), 'service.node_warning').length > 0,
    );
    server.kill('SIGTERM');
    expect(await server.exited).toMatchObject({
      ...{ code: 0, stderr: '' },
      stdout: expect.stringContaining('an odd call'),
    });
  });

  it('is written without a further request, so that SIGKILL costs the newest lines at most', async () => {
    const { server, ids } = await responded();
    await until('the last line', () => server.stdout.includes(`"${ids.at(-1)}"`));
    server.kill('SIGKILL');
    const { stdout } = await server.exited;
    expect(loggedIds(stdout)).toEqual(ids);
  });
});
