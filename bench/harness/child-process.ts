import { type ChildProcess, spawn } from 'node:child_process';

/** A process of the bench's own that is talked to over IPC. */
export interface ChildOptions {
  /** The whole path of its file. */
  readonly file: string;
  readonly args?: readonly string[];
  /** Options of Node itself. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const STOP_LIMIT_MS = 15_000;
/** What a child may see of this process: no setting of the product that happens to be set here. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'LANG'];

/** Starts a process. Its log goes to /dev/null, written by it all the same. */
export function spawnChild({ file, args = [], nodeArgs = [], env = {} }: ChildOptions): ChildProcess {
  const inherited = Object.fromEntries(INHERITED.map((name) => [name, process.env[name]]));
  return spawn(process.execPath, [...nodeArgs, file, ...args], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...inherited, ...env },
  });
}

/** The next message of one of the kinds. Rejects if the process ends or the time is over. */
export function nextMessage<Message extends { readonly kind: string }, Kind extends Message['kind']>(
  child: ChildProcess,
  kinds: readonly Kind[],
  limitMs: number,
): Promise<Extract<Message, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const end = (finish: () => void) => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', onExit).off('error', onError);
      finish();
    };
    const isOne = (message: Message): message is Extract<Message, { kind: Kind }> =>
      kinds.some((kind) => kind === message.kind);
    const onMessage = (message: Message) => {
      if (isOne(message)) end(() => resolve(message));
    };
    const onError = (error: Error) => end(() => reject(error));
    const onExit = (code: number | null, signal: string | null) =>
      onError(
        new Error(`${child.spawnfile} ${child.spawnargs.slice(1).join(' ')} ended with ${code ?? signal}`),
      );
    const timer = setTimeout(
      () => onError(new Error(`no "${kinds.join('" or "')}" within ${limitMs} ms`)),
      limitMs,
    );
    child.on('message', onMessage).on('exit', onExit).on('error', onError);
  });
}

/** Has the process end by itself; kills it where it does not. */
export async function endChild(child: ChildProcess, askToEnd: () => void): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  askToEnd();
  await exited;
  clearTimeout(timer);
}
