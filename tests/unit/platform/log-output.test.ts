import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { LogOutput } from '../../../src/platform/log/log-output.ts';

async function logFile() {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-log-'));
  const file = join(folder, 'log');
  const fd = openSync(file, 'w');
  onTestFinished(async () => {
    closeSync(fd);
    await rm(folder, { recursive: true });
  });
  return { output: new LogOutput(fd), written: () => readFileSync(file, 'utf8') };
}

it('A line that comes while the one before is being written follows it', async () => {
  const { output, written } = await logFile();
  output.write('one\n', true);
  output.write('two\n', true);
  await expect.poll(written).toBe('one\ntwo\n');
});

it('Lines that fill a block while another is being written follow it', async () => {
  const { output, written } = await logFile();
  const line = `${'x'.repeat(999)}\n`;
  for (let count = 0; count < 100; count += 1) output.write(line);
  await expect.poll(() => written().length).toBe(100_000);
});

it('What waits is written by the time that a flush resolves', async () => {
  const { output, written } = await logFile();
  output.write('one\n', true);
  output.write('two\n');
  // Long after the test has failed.
  await output.flush(1_000_000);
  expect(written()).toBe('one\ntwo\n');
});

/** A line whose number tells where it belongs. */
const LINE_LENGTH = 100_000;
const line = (number: number) => `${number} `.padEnd(LINE_LENGTH - 1, 'x').concat('\n');
/** More than waits, by a few lines. */
const LINES = Math.ceil(8_388_608 / LINE_LENGTH) + 20;

/** A pipe that takes as much as the system allows; nothing is read from it unless the test does. */
async function pipe() {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-pipe-'));
  const file = join(folder, 'pipe');
  execFileSync('mkfifo', [file]);
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(file, constants.O_WRONLY | constants.O_NONBLOCK);
  onTestFinished(async () => {
    closeSync(writer);
    closeSync(reader);
    await rm(folder, { recursive: true });
  });
  const buffer = Buffer.alloc(1_048_576);
  let got = '';
  /** Reads what is there. Returns all that has been read so far. */
  const read = () => {
    for (;;) {
      try {
        const bytes = readSync(reader, buffer);
        if (bytes === 0) break;
        got += buffer.toString('latin1', 0, bytes);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        break;
      }
    }
    return got;
  };
  return { output: new LogOutput(writer), read };
}

const numbersIn = (text: string) => [...text.matchAll(/^(\d+) x*$/gm)].map(([, number]) => Number(number));
const count = ({ dropped }: LogOutput, reason: string) =>
  [...dropped.entries()].find(([known]) => known === reason)?.[2] ?? 0;

/** What is tried again after a pause is tried when the test says so. */
function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

/** Resolves once the system has rejected more and the output has paused. */
const paused = () => expect.poll(() => vi.getTimerCount(), SOON).toBe(1);
const SOON = { interval: 1 };
/** A try still under way would go on after the test, in real time, with whatever file gets the number of this one. */
const atRest = paused;

describe('Lines for a pipe that nobody reads', () => {
  it('wait up to 8 MiB; those beyond are dropped and counted, and the others come once somebody reads', async () => {
    holdTimers();
    const { output, read } = await pipe();
    for (let number = 0; number < LINES; number += 1) output.write(line(number));
    await paused();
    const dropped = count(output, 'full');
    // The first line is with the system, and does not wait.
    expect(dropped).toBe(LINES - 1 - Math.floor(8_388_608 / LINE_LENGTH));
    const kept = Array.from({ length: LINES - dropped }, (_, number) => number);
    const readOn = () => {
      vi.advanceTimersByTime(50);
      return read().length;
    };
    // A pipe of 64 KiB after the other.
    await expect.poll(readOn, SOON).toBe(kept.length * LINE_LENGTH);
    expect(numbersIn(read())).toEqual(kept);
    // There is room again.
    output.write('last\n', true);
    await expect.poll(() => read().slice(-6), SOON).toBe('\nlast\n');
    expect(count(output, 'full')).toBe(dropped);
    expect([...output.failures.entries()]).toEqual([]);
  });

  it('are written at the end of the process as far as the pipe takes them, from where the pause was', async () => {
    holdTimers();
    const { output, read } = await pipe();
    output.write(line(0), true);
    await paused();
    output.write('one\n');
    read();
    output.flushSync();
    expect(read()).toBe(`${line(0)}one\n`);
  });

  it('do not hold up the end of the process', async () => {
    holdTimers();
    const { output, read } = await pipe();
    for (let number = 0; number < 3; number += 1) output.write(line(number));
    await paused();
    const flushed = output.flush(1_000);
    vi.advanceTimersByTime(1_000);
    await flushed;
    output.flushSync();
    await atRest();
    expect(read().slice(0, 10)).toBe(line(0).slice(0, 10));
  });
});

describe('A destination that fails', () => {
  it.each([
    ['EBADF', '/dev/null', 'r'],
    ['ENOSPC', '/dev/full', 'w'],
  ])('is tried every second, and neither throws nor holds up anything: %s', async (code, file, flags) => {
    holdTimers();
    const fd = openSync(file, flags);
    onTestFinished(() => closeSync(fd));
    const output = new LogOutput(fd);
    const failures = () => [...output.failures.entries()];
    output.write('one\n', true);
    await expect.poll(failures, SOON).toEqual([[code, '', 1]]);
    vi.advanceTimersByTime(1_000);
    await expect.poll(failures, SOON).toEqual([[code, '', 2]]);
    for (let number = 0; number < LINES; number += 1) output.write(line(number));
    expect(count(output, 'full')).toBe(LINES - Math.floor(8_388_608 / LINE_LENGTH));
    const flushed = output.flush(1_000);
    vi.advanceTimersByTime(1_000);
    await flushed;
    output.flushSync();
    await atRest();
    expect([...output.dropped.entries()].map(([reason]) => reason)).toEqual(['full']);
  });
});
