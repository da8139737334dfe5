import { expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { productionSettings, type ServerProcess, startServer } from '../support/processes/server.ts';
import { lines } from '../support/processes/started.ts';

const STRAY = [
  'SIGUSR1',
  'SIGUSR2',
  'SIGALRM',
  'SIGIO',
  'SIGPWR',
  'SIGVTALRM',
  'SIGPIPE',
  'SIGWINCH',
] as const;

async function stopInOrder(server: ServerProcess, signal: NodeJS.Signals): Promise<void> {
  server.kill(signal);
  expect(await server.exited).toMatchObject({ code: 0, signal: null });
  expect(lines(server)).toContainEqual(expect.objectContaining({ event: 'service.stopping', signal }));
  expect(lines(server).at(-1)).toMatchObject({ event: 'service.stopped' });
}

it('No stray signal ends an instance or opens a debugger; SIGHUP stops it in order', async () => {
  const server = await startServer(await migratedFolder(), productionSettings());
  for (const signal of STRAY) {
    server.kill(signal);
    if (signal !== 'SIGPIPE' && signal !== 'SIGWINCH')
      await expect
        .poll(() => lines(server).filter(({ event }) => event === 'service.signal_ignored'))
        .toContainEqual(expect.objectContaining({ signal }));
    expect((await fetch(`${server.origin}/health/ready`)).status, signal).toBe(200);
  }
  expect(server.stderr).toBe('');
  await stopInOrder(server, 'SIGHUP');
});

it('SIGINT stops an instance in order', async () => {
  await stopInOrder(await startServer(await migratedFolder(), productionSettings()), 'SIGINT');
});
