import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './commands.ts';
import type { StageResult } from './run-stage.ts';

const FOLDER = join(ROOT, '.test-results');

/** Results of the suites that have run on one state of the sources, and the seed that was drawn for them. */
export interface KeptResults {
  readonly sources: string;
  readonly seed: number;
  readonly suites: Readonly<Record<string, StageResult>>;
}

const git = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
  execFileSync('git', ['-C', ROOT, ...args], {
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  }).trim();

/** Names the state of the sources: the commit, and with uncommitted changes the hash of the changed tree, too. */
export function nameSources(): string {
  const commit = git(['rev-parse', '--short=12', 'HEAD']);
  if (git(['status', '--porcelain']) === '') return commit;
  const folder = mkdtempSync(join(tmpdir(), 'content-graph-index-'));
  try {
    const index = { GIT_INDEX_FILE: join(folder, 'index') };
    git(['read-tree', 'HEAD'], index);
    git(['add', '--all'], index);
    return `${commit}-${git(['write-tree'], index).slice(0, 12)}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const fileOf = (sources: string) => join(FOLDER, `${sources}.json`);

/** @returns the results that earlier runs have kept for these sources; undefined before the first run */
export function readResults(sources: string): KeptResults | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(sources), 'utf8')) as KeptResults;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Replaces the file as a whole, so that a run that is killed leaves the earlier results. */
export function writeResults(sources: string, results: KeptResults): void {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(`${fileOf(sources)}.new`, JSON.stringify(results, undefined, 2));
  renameSync(`${fileOf(sources)}.new`, fileOf(sources));
}
