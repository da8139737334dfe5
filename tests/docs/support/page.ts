import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Block, blocksOf, pathOf } from '../../support/docs/markdown.ts';
import { ROOT, until } from '../../support/processes/process.ts';
import { isAsShown } from './expected-output.ts';
import { LEFT_OUT } from './left-out.ts';
import { startProject } from './project.ts';
import { openShell, type Running, type Shell } from './shell.ts';

/** Needs what tools have made: `npm run test:clients` runs it. */
const OF_TOOLS = 'tools';
/** Each line waits for the event of the line before, because an event has the state at its delivery. */
const BY_LINE = 'by-line';
export const FLAGS = ['stream', 'stopped', BY_LINE, OF_TOOLS];

/** The shell blocks of a page, without those that show a file (`tests/contract/client-recipes.test.ts`). */
export function shellBlocks(page: string): Block[] {
  const blocks = blocksOf(readFileSync(join(ROOT, page), 'utf8'));
  return blocks.filter((block) => block.language === 'sh' && pathOf(block) === undefined);
}

/** The blocks that are pasted. */
export function pastedBlocks(page: string): Block[] {
  const begins = LEFT_OUT.filter((block) => block.page === page).map((block) => block.begins);
  return shellBlocks(page).filter(
    ({ text, flags }) => !flags.includes(OF_TOOLS) && !begins.some((words) => text.startsWith(words)),
  );
}

interface Followed {
  readonly stream: Running;
  readonly shown: string | undefined;
}

/** Waits until a stream has printed what the page shows. */
async function expectStream({ stream, shown }: Followed): Promise<void> {
  if (shown === undefined) return;
  try {
    await until('the output of a stream', async () => isAsShown(shown, await stream.output(), true));
  } catch (error) {
    throw new Error(`${stream.text}printed\n${await stream.output()}instead of\n${shown}`, { cause: error });
  }
}

const countEvents = async ({ stream }: Followed) => (await stream.output()).split('event: next').length;

/** Pastes a block line by line. A line that prints a response causes one event in the last stream. */
async function runByLine(shell: Shell, text: string, followed: readonly Followed[]): Promise<string> {
  const last = followed.at(-1);
  if (last === undefined) throw new Error(`no stream shows the events of this block:\n${text}`);
  for (const earlier of followed.slice(0, -1)) await expectStream(earlier);
  let printed = '';
  for (const line of text.split(/(?<=\n)/)) {
    const count = await countEvents(last);
    const response = await shell.run(line);
    printed += response;
    if (response !== '') await until(`the event of: ${line}`, async () => (await countEvents(last)) > count);
  }
  return printed;
}

function expectShown({ text, output }: Block, printed: string): void {
  if (output === undefined) {
    // An error that the page does not show is one that it does not expect.
    expect(printed, `printed by ${text}`).not.toMatch(/"errors": ?\[/);
  } else if (!isAsShown(output, printed, false)) expect(printed, `printed by ${text}`).toBe(output);
}

/**
 * A test that pastes every shell block of a page, in order, into one terminal beside a fresh service, and compares what
 * is printed with the block of output that follows. A `sh stream` block goes on in a second terminal until the end of
 * the page; for a `sh stopped` block the service is stopped. A `sh by-line` block is pasted line by line. Nothing is
 * changed in a block but the port.
 */
export function itRuns(page: string): void {
  it(`${page} can be pasted as it stands`, async () => {
    const { folder, port, stop, start } = await startProject(page === 'README.md');
    const shell = await openShell(folder, { npm_config_update_notifier: 'false' });
    const withPort = (text: string) => text.replaceAll(':4000', `:${port}`);
    const followed: Followed[] = [];
    for (const block of pastedBlocks(page)) {
      const text = withPort(block.text);
      if (block.flags.includes('stream')) {
        const shown = block.output === undefined ? undefined : withPort(block.output);
        followed.push({ stream: await shell.start(text), shown });
        continue;
      }
      const isStopped = block.flags.includes('stopped');
      if (isStopped) await stop();
      const printed = block.flags.includes(BY_LINE)
        ? await runByLine(shell, text, followed)
        : await shell.run(text);
      if (isStopped) await start();
      expectShown(block, printed.replaceAll(`:${port}`, ':4000'));
    }
    for (const stream of followed) await expectStream(stream);
    for (const { stream } of followed) stream.end();
  });
}
