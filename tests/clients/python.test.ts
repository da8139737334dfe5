import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Process, ROOT, runProgram, until } from '../support/processes/process.ts';
import { type LiveService, startService } from './live-service.ts';
import { startLossyProxy } from './lossy-proxy.ts';

/** Debian's, with the library of its package python3-httpx: another one on the PATH may not have it. */
const PYTHON = '/usr/bin/python3';
const PROGRAM = join(ROOT, 'examples/clients/python/posts.py');

function posts({ origin, key }: Pick<LiveService, 'origin' | 'key'>, ...args: string[]): Process {
  return runProgram([PYTHON, '-B', PROGRAM, ...args], { ORIGIN: origin, KEY: key });
}

async function linesOf(program: Process): Promise<string[]> {
  const { code, stdout, stderr } = await program.exited;
  expect(code, stderr).toBe(0);
  return stdout.trim().split('\n');
}

it('reads page by page, and creates a post once though answers are lost and the program is run again', async () => {
  const service = await startService();
  const { url, replayed } = await startLossyProxy(service.url, 2);
  const titles = Array.from({ length: 53 }, (_, number) => `post ${number}`);
  await service.create(...titles);
  const through = { origin: new URL(url).origin, key: service.key };
  expect(await linesOf(posts(through, 'list', 'told'))).toEqual(titles.toReversed());
  const task = randomUUID();
  const [id] = await linesOf(posts(through, 'create', task, 'once'));
  expect(replayed).toEqual([false, true, true]);
  expect(await linesOf(posts(through, 'create', task, 'once'))).toEqual([id]);
  const { data } = await service.query('{ posts(limit: 2) { id title } }');
  expect(data.posts).toMatchObject([{ id, title: 'once' }, { title: 'post 52' }]);
});

it('prints each change once and in order, over a service that is killed, and goes on when it is started again', async () => {
  const service = await startService();
  const file = join(service.dataDir, 'last-event-id');
  const titlesOf = (program: Process) =>
    [...program.stdout.matchAll(/"title": ("[^"]*")/g)].map(([, title = '']) => JSON.parse(title) as string);
  const first = posts(service, 'follow', file);
  // Whatever is created before its stream is open is not its to tell.
  await until('an open stream', async () => {
    await service.create('opened?');
    return titlesOf(first).length > 0;
  });
  const told = async (program: Process, ...titles: string[]) => {
    await until(`the post ${titles.at(-1)}`, () => titlesOf(program).at(-1) === titles.at(-1));
    expect(titlesOf(program).filter((title) => title !== 'opened?')).toEqual(titles);
  };
  // Python's own lines end there, those of Server-Sent Events do not.
  const three = 'three \u2028 and \u0085 lines';
  await service.create('one');
  await service.restart('SIGKILL', 'two', three);
  await service.create('four');
  await told(first, 'one', 'two', three, 'four');
  await service.restart('SIGTERM', 'five');
  await told(first, 'one', 'two', three, 'four', 'five');
  await service.create('six');
  await told(first, 'one', 'two', three, 'four', 'five', 'six');
  first.kill('SIGKILL');
  await first.exited;
  await service.create('seven');
  const second = posts(service, 'follow', file);
  await until('the post seven', () => titlesOf(second).at(-1) === 'seven');
  // It was killed after it had printed the sixth, and before or after it stored that.
  expect([['seven'], ['six', 'seven']]).toContainEqual(titlesOf(second));
});

it('ends with the error of the service where it is rejected', async () => {
  const service = await startService();
  const stranger = posts({ origin: service.origin, key: 'nobody' }, 'follow', join(service.dataDir, 'none'));
  expect(await stranger.exited).toMatchObject({ code: 1 });
  expect(stranger.stderr).toContain('ApiError');
});
