import { cp, rm, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { makeTestFolder } from '../../support/database/test-folder.ts';
import { fillFolder } from '../../support/processes/migrated-folder.ts';
import { type Process, ROOT, runProgram } from '../../support/processes/process.ts';
import { AMPLE_TIMEOUTS } from '../../support/settings.ts';

/** What somebody has who has just cloned the project and run `npm ci`. */
const LEFT_OUT = /^(?:\.git|\.data|\.env|coverage|docs\/\.vitepress\/(?:cache|dist))$|(?:^|\/)node_modules$/;

/** A copy of the project, in which the service runs as `npm start` runs it. */
export interface Project {
  readonly folder: string;
  readonly port: string;
  stop(): Promise<void>;
  /** Starts it again on the same port. */
  start(): Promise<void>;
}

/** A copy of the project with its packages. It goes with the test. */
export async function copyProject(): Promise<string> {
  const folder = await makeTestFolder('content-graph-docs-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await cp(ROOT, folder, { recursive: true, filter: (path) => !LEFT_OUT.test(relative(ROOT, path)) });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/**
 * Starts the service in a copy of the project, on a free port: with no data folder, as somebody has it who reads the
 * first page, or with a database in which there is nothing yet.
 */
export async function startProject(isFirst: boolean): Promise<Project> {
  const folder = await copyProject();
  if (!isFirst) await fillFolder(join(folder, '.data'));
  let server: Process;
  const port = String(await freePort());
  const start = async () => {
    server = runProgram(
      [join(ROOT, 'node_modules/.bin/node'), 'src/main.ts'],
      { ...AMPLE_TIMEOUTS, PORT: port },
      folder,
    );
    await server.printed(/Content Graph API\s+http:[\s\S]*\n\n/);
  };
  await start();
  return {
    folder,
    port,
    start,
    async stop() {
      server.kill('SIGTERM');
      await server.exited;
    },
  };
}
