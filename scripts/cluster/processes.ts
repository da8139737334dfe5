import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A mistake of the user: printed without a stack. */
export class SetupError extends Error {}

export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** The user to run it as; the current one by default. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
}

/** A child process that runs until it is stopped. */
export interface Service {
  /** Throws if it has ended. The message holds its output. */
  assertRunning(): void;
  /** Resolves to the exit code once it has ended; null if a signal ended it. Sends SIGKILL if it takes too long. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** More than the time that an instance takes at most to stop. */
const STOP_LIMIT_MS = 30_000;
const RETRY_MS = 50;

/** A child inherits only PATH, none of the caller's settings. */
function launch({ file, args, cwd, env, user }: Command): ChildProcess {
  return spawn(file, args, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  });
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const said = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.stderr += text;
  });
  return said;
}

/** Runs a command to completion and returns its standard output. Throws if it fails. */
export async function run(command: Command): Promise<string> {
  const child = launch(command);
  const said = collect(child);
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command.file} failed:\n${said.stdout}${said.stderr}`);
  return said.stdout;
}

export function start(command: Command): Service {
  const child = launch(command);
  const said = collect(child);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  const ended = () => failure !== undefined || child.exitCode !== null || child.signalCode !== null;
  return {
    assertRunning() {
      if (ended()) throw new Error(`${command.file} ended: ${failure?.message ?? said.stdout + said.stderr}`);
    },
    async stop(signal = 'SIGTERM') {
      if (ended()) return child.exitCode;
      const closed = once(child, 'close');
      child.kill(signal);
      const limit = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
      await closed;
      clearTimeout(limit);
      return child.exitCode;
    },
  };
}

/** A currently free loopback port. */
export async function freePort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

/**
 * Processes draw ports from blocks of their own below the range that the kernel gives to connections
 * (net.ipv4.ip_local_port_range begins at 32768). So nothing else takes a port before its service listens on it, or while
 * the service restarts.
 */
const FIRST_PORT = 20_000;
const BLOCKS = 120;
const BLOCK_SIZE = 100;
let drawn = 0;
let block: Promise<number> | undefined;

/** Listens on a port. Undefined if another process does. */
async function listenOn(port: number) {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch {
    return undefined;
  }
  return server;
}

async function isFree(port: number): Promise<boolean> {
  const server = await listenOn(port);
  if (server === undefined) return false;
  server.close();
  await once(server, 'close');
  return true;
}

/** Claims a block for this process, by listening on its first port. */
async function claimBlock(): Promise<number> {
  for (let index = 0; index < BLOCKS; index += 1) {
    const first = FIRST_PORT + ((process.pid + index) % BLOCKS) * BLOCK_SIZE;
    const server = await listenOn(first);
    if (server === undefined) continue;
    server.unref();
    return first;
  }
  throw new Error('Other processes have all blocks of ports.');
}

/** Several free loopback ports. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  for (let attempt = 0; ports.length < count; attempt += 1) {
    if (attempt === BLOCK_SIZE) throw new Error('No port is free.');
    block ??= claimBlock();
    const port = (await block) + 1 + (drawn % (BLOCK_SIZE - 1));
    drawn += 1;
    if (await isFree(port)) ports.push(port);
  }
  return ports;
}

/** Polls until `ask` returns true. Throws if the service ends or the signal aborts first. */
export async function until(
  what: string,
  ask: () => Promise<boolean>,
  { service, signal }: { readonly service?: Service; readonly signal: AbortSignal },
): Promise<void> {
  while (!(await ask().catch(() => false))) {
    service?.assertRunning();
    if (signal.aborted) throw new Error(`${what} did not become ready in time`);
    await delay(RETRY_MS);
  }
}
