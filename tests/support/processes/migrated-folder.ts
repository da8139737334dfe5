import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';
import type { TestProject } from 'vitest/node';
import { environment, ROOT, temporaryFolder } from './process.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly migratedFolder: string;
  }
}

/** Run once before the tests: to make a database takes as long as everything else that a start does, thrice. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'content-graph-migrated-'));
  await promisify(execFile)(process.execPath, [join(ROOT, 'src/admin/main.ts'), 'database', 'migrate'], {
    cwd: folder,
    env: environment({ DATA_DIR: folder }),
  });
  project.provide('migratedFolder', folder);
  return () => rm(folder, { recursive: true, force: true });
}

/** Puts a database in which there is nothing yet into a folder, which need not exist. */
export async function fillFolder(folder: string): Promise<void> {
  await cp(inject('migratedFolder'), folder, { recursive: true, preserveTimestamps: true });
}

/** A folder with such a database. It goes with the test. */
export async function migratedFolder(): Promise<string> {
  const folder = await temporaryFolder();
  await fillFolder(folder);
  return folder;
}
