import { write, writeSync } from 'node:fs';
import { FastCounter } from '../metrics/instruments.ts';
import type { Metrics } from '../metrics/metrics.ts';

/** A system call for each line would cost more than the request that the line logs. */
const BLOCK_CHARACTERS = 32_768;
const FLUSH_INTERVAL_MS = 1_000;
const MAX_WAITING_CHARACTERS = 8_388_608;
const FULL_PIPE_PAUSE_MS = 50;
const FAILED_PAUSE_MS = 1_000;
const STANDARD_ERROR = 2;

/**
 * Never blocks the service. Lines that the destination does not accept wait in limited memory, and further
 * lines are dropped and counted. sonic-boom is not used, because its `flushSync` repeats a failed write
 * forever (docs/decisions/0018-own-code.md).
 */
export class LogOutput {
  readonly dropped = new FastCounter();
  readonly failures = new FastCounter();
  readonly #fd: number;
  #waiting = '';
  #block: Buffer | undefined;
  #writing = false;
  #written = 0;
  #failing = false;
  #closed = false;
  /** True if the waiting lines must be written immediately after the current block. */
  #due = false;
  #flushing: NodeJS.Timeout | undefined;
  #idle: (() => void)[] = [];

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** @param now writes the line immediately, for an interactive reader */
  write(line: string, now = false): void {
    if (this.#closed || this.#waiting.length + line.length > MAX_WAITING_CHARACTERS) {
      this.dropped.add(this.#closed ? 'closed' : 'full');
      return;
    }
    this.#waiting += line;
    if (now || this.#waiting.length >= BLOCK_CHARACTERS) this.#send();
    else this.#flushing ??= this.#later(() => this.#send(), FLUSH_INTERVAL_MS);
  }

  flush(limitMs: number): Promise<void> {
    this.#send();
    return new Promise((resolve) => {
      if (this.#block === undefined) return resolve();
      setTimeout(resolve, limitMs);
      this.#idle.push(resolve);
      return undefined;
    });
  }

  /** Writes only as much as the destination accepts immediately, because the process is about to exit. */
  flushSync(): void {
    if (this.#closed || this.#failing) return;
    const paused = this.#writing ? undefined : this.#block?.subarray(this.#written);
    const rest = Buffer.concat([paused ?? Buffer.alloc(0), Buffer.from(this.#waiting)]);
    this.#waiting = '';
    try {
      for (let at = 0; at < rest.length; ) at += writeSync(this.#fd, rest, at);
    } catch (error) {
      this.#note(error as NodeJS.ErrnoException);
    }
  }

  #later(act: () => void, ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#flushing = undefined;
      act();
    }, ms).unref();
  }

  #send(): void {
    this.#due = true;
    if (this.#block !== undefined || this.#closed) return;
    this.#due = false;
    if (this.#waiting === '') {
      for (const resolve of this.#idle.splice(0)) resolve();
      return;
    }
    clearTimeout(this.#flushing);
    this.#flushing = undefined;
    this.#block = Buffer.from(this.#waiting);
    this.#waiting = '';
    this.#written = 0;
    this.#writeOn();
  }

  #writeOn(): void {
    const block = this.#block;
    if (block === undefined) return;
    this.#writing = true;
    write(this.#fd, block, this.#written, (error, bytes) => {
      this.#writing = false;
      if (error === null) this.#written += bytes;
      if (error === null && this.#written < block.length) return this.#writeOn();
      if (error === null) {
        this.#block = undefined;
        this.#failing = false;
        if (this.#due || this.#idle.length > 0) this.#send();
        return undefined;
      }
      const full = error.code === 'EAGAIN' || error.code === 'EBUSY';
      if (!full) this.#note(error);
      if (!this.#closed)
        setTimeout(() => this.#writeOn(), full ? FULL_PIPE_PAUSE_MS : FAILED_PAUSE_MS).unref();
      return undefined;
    });
  }

  /** Only the first of several failures is reported. */
  #note(error: NodeJS.ErrnoException): void {
    const code = error.code ?? 'unknown';
    this.failures.add(code);
    if (code === 'EPIPE') this.#closed = true;
    if (this.#failing) return;
    this.#failing = true;
    const then = this.#closed ? 'It is not written any more.' : 'The service tries again every second.';
    try {
      writeSync(STANDARD_ERROR, `The log cannot be written to standard output: ${code}. ${then}\n`);
    } catch {
      // Standard error is closed, too. The metrics still count the failure.
    }
  }
}

export const logOutput = new LogOutput(1);

export function registerLogMetrics(metrics: Metrics): void {
  const { dropped, failures } = logOutput;
  metrics.readCounter(
    'content_graph_log_lines_dropped_total',
    'Log lines dropped because standard output is closed or its queue is full.',
    ['reason'],
    dropped,
  );
  metrics.readCounter(
    'content_graph_log_write_failures_total',
    'Failed writes to standard output.',
    ['code'],
    failures,
  );
}
