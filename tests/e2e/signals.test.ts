import { expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { productionSettings, startServer } from '../support/processes/server.ts';
import { lines, said } from '../support/processes/started.ts';

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

it('No stray signal ends an instance or opens a debugger; SIGHUP stops it in order', async () => {
  const server = await startServer(await migratedFolder(), productionSettings());
  for (const signal of STRAY) {
    server.kill(signal);
    if (signal !== 'SIGPIPE' && signal !== 'SIGWINCH')
      await expect
        .poll(() => lines(server).filter(({ msg }) => msg === 'ignored a signal'), { timeout: 60_000 })
        .toContainEqual(expect.objectContaining({ signal }));
    expect((await fetch(`${server.origin}/health/ready`)).status, signal).toBe(200);
  }
  expect(server.stderr).toBe('');
  server.kill('SIGHUP');
  await said(server, 'stopping');
  expect(await server.exited).toMatchObject({ code: 0, signal: null });
  expect(lines(server).at(-1)).toMatchObject({ msg: 'stopped' });
});
