import { join } from 'node:path';
import { expect, it } from 'vitest';
import { stallingProxy } from '../support/database/stalling-proxy.ts';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { ROOT, runScript, until } from '../support/processes/process.ts';
import { demoKey, startServer } from '../support/processes/server.ts';

/** Longer than the limits of the program, so that it finds its connections silent. */
const SLEEP_MS = 5_000;
const ASLEEP = ['Asleep 1', 'Asleep 2', 'Asleep 3'];

it('A client whose process is stopped and continued gets each event once and in order, and writes each post once', async () => {
  const dataDir = await migratedFolder();
  const server = await startServer(dataDir, { RATE_LIMIT_BURST: '10000' });
  const key = await demoKey(dataDir);
  const proxy = await stallingProxy(server.origin);
  const script = join('tests/support/client/writing-program.ts');
  const program = runScript(script, [`${proxy.url}graphql`, key], {}, ROOT);
  await program.printed(/Title: Written 5\n/);

  program.kill('SIGSTOP');
  const stoppedMs = Date.now();
  // A network that forgets connections tells neither end.
  proxy.silence();
  for (const title of ASLEEP) {
    const mutation = 'mutation ($title: String!) { createPost(title: $title, body: "b") { id } }';
    expect((await server.gql(mutation, { key, variables: { title } })).errors).toBeUndefined();
  }
  await until('the sleep', () => Date.now() - stoppedMs > SLEEP_MS);
  program.kill('SIGCONT');

  await program.printed(/All are written\./);
  await program.printed(/Title: Written 30\n/);
  const { data } = await server.gql('{ posts(limit: 100) { title } }', { key });
  const written: string[] = data.posts
    .map(({ title }: { title: string }) => title)
    .filter((title: string) => /^(?:Written|Asleep)/.test(title))
    .reverse();
  const received = [...program.stdout.matchAll(/^Title: (.*)$/gm)].map(([, title]) => title);
  expect(received).toEqual(written);
  expect(written.filter((title) => ASLEEP.includes(title))).toEqual(ASLEEP);
  expect(written.filter((title) => title.startsWith('Written'))).toEqual(
    Array.from({ length: 30 }, (_, index) => `Written ${index + 1}`),
  );
  expect(program.stdout).toMatch(/reconnecting[\s\S]*live resumed/);
  expect(program.stdout).not.toContain('missedEvents');
});
