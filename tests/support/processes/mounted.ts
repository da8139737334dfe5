import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './process.ts';

const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

function run(...command: readonly string[]): void {
  const [program = '', ...args] = [...asRoot, ...command];
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

/** A disk of its own, mounted on a folder. */
export interface MountedDisk {
  readonly folder: string;
  /** From now on nothing can be written to it. */
  makeReadOnly(): void;
}

/**
 * A disk of a size in MiB that goes with the test. It takes root, or sudo without a password: the tests that need one
 * fail without, and are not skipped.
 */
export async function mountedDisk(mebibytes: number): Promise<MountedDisk> {
  const folder = await temporaryFolder();
  const owner = `uid=${process.getuid?.() ?? 0},gid=${process.getgid?.() ?? 0}`;
  run('mount', '-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=0700,${owner}`, 'tmpfs', folder);
  // Lazily: a process of the test may still have files open.
  onTestFinished(() => run('umount', '--lazy', folder));
  return { folder, makeReadOnly: () => run('mount', '-o', 'remount,ro', folder) };
}
