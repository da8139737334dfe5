import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { launchAdmin, quickFolders } from '../support/processes/backups.ts';
import { killAt, Moments, workOf } from '../support/processes/kills.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { admin, launchServer, startServer } from '../support/processes/server.ts';

describe('a restore that is killed', () => {
  it('leaves a folder that no service starts on, until it is restored into again', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir);
    const file = join(backups, 'backup');
    expect((await admin(['database', 'backup', file], dataDir)).code).toBe(0);
    server.kill('SIGTERM');
    await server.exited;

    const mark = () => statSync(join(restored, 'restoring'), { throwIfNoEntry: false })?.mtimeMs;
    /** Whether a restore works that has begun after this call. */
    const beginning = () => {
      const old = mark();
      return () => ![undefined, old].includes(mark());
    };
    const run = () => launchAdmin(['database', 'restore', file], restored);
    const moments = new Moments(await workOf(run(), beginning()));
    rmSync(restored, { recursive: true });
    for (let n = 0; moments.left; n += 1) {
      const begun = beginning();
      const restoring = run();
      const ended = await killAt(restoring, begun, moments.nextMs());
      moments.was({ ended });
      if (ended) expect((await restoring.exited).stderr).toBe('');
      if (ended || existsSync(join(restored, 'postgres'))) {
        // As after one that nobody has killed.
        expect((await admin(['user', 'list'], restored)).json).toHaveLength(3);
        rmSync(restored, { recursive: true });
        continue;
      }
      if (n % 7 === 1)
        expectOneLine(
          await launchServer(restored).exited,
          /being restored into DATA_DIR .* run "admin database restore" again/,
        );
    }
    expect((await run().exited).code).toBe(0);
    expect(readdirSync(restored).sort()).toEqual(['demo.json', 'lock', 'postgres', 'secret-key']);
    await startServer(restored);
    expect((await admin(['user', 'list'], restored)).json).toHaveLength(3);
  });
});
