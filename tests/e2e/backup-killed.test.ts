import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readArchive } from '../../src/admin/backup/archive-reader.ts';
import { asApp, keyedLoad, launchAdmin, partsIn, quickFolders } from '../support/processes/backups.ts';
import { expectOneLine } from '../support/processes/mistakes.ts';
import { type Process, until } from '../support/processes/process.ts';
import { admin, demoKey, launchServer, startServer } from '../support/processes/server.ts';
import { UNTHROTTLED } from '../support/unthrottled.ts';

const KILLS = 20;

const isOver = ({ pid }: Process) => {
  try {
    process.kill(pid, 0);
    return false;
  } catch {
    return true;
  }
};

/** How long a command works from the moment at which `begun` is true, in milliseconds. */
async function workOf(command: Process, begun: () => boolean): Promise<number> {
  await until('its beginning', begun);
  const sinceMs = performance.now();
  expect((await command.exited).code).toBe(0);
  return performance.now() - sinceMs;
}

/** Moments of some work for so many kills, spread over its time. A machine may be quicker than when that was measured. */
class Moments {
  #killed = 0;
  #workMs: number;

  constructor(workMs: number) {
    this.#workMs = workMs;
  }

  get left(): boolean {
    return this.#killed < KILLS;
  }

  nextMs(): number {
    return (this.#killed / KILLS) * this.#workMs;
  }

  /** `ended`: the work was done before. */
  was({ ended }: { readonly ended: boolean }): void {
    if (ended) this.#workMs *= 0.8;
    else this.#killed += 1;
  }
}

/** Kills a command at a moment of its work. Returns whether it had ended before. */
async function killAt(command: Process, begun: () => boolean, afterMs: number): Promise<boolean> {
  await until('its beginning', () => begun() || isOver(command));
  await delay(afterMs);
  if (isOver(command)) return true;
  process.kill(command.pid, 'SIGKILL');
  return (await command.exited).signal !== 'SIGKILL';
}

/** All of it is read and compared with its list. */
const verify = (file: string) =>
  readArchive(file, {
    folder: async () => undefined,
    async file(_name, _size, content) {
      for await (const _part of content);
    },
  });

describe('a backup that is killed', () => {
  it('is absent or whole, and the server goes on', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir, UNTHROTTLED);
    const load = keyedLoad(asApp(server), await demoKey(dataDir), 'load');
    const begun = () => partsIn(backups).length > 0;
    const run = (name: string) => launchAdmin(['backup', join(backups, name)], dataDir);
    const moments = new Moments(await workOf(run('first'), begun));
    for (let n = 0; moments.left; n += 1) {
      const file = join(backups, `killed-${n}`);
      const ended = await killAt(run(`killed-${n}`), begun, moments.nextMs());
      moments.was({ ended });
      if (existsSync(file)) await verify(file);
      else expect(ended).toBe(false);
      for (const part of partsIn(backups)) rmSync(join(backups, part));
    }
    const before = [...load.written];
    expect((await run('last').exited).code).toBe(0);
    await load.stop();
    expect(new Set(load.statuses)).toEqual(new Set([200]));
    expect(server.stdout).not.toMatch(/starting it again|restarting/);
    server.kill('SIGTERM');
    expect((await server.exited).stderr).toBe('');

    expect((await admin(['restore', join(backups, 'last')], restored)).code).toBe(0);
    const again = await startServer(restored);
    const { data } = await again.gql('query ($ids: [ID!]!) { nodes(ids: $ids) { id } }', {
      key: await demoKey(restored),
      variables: {
        ids: before.slice(-50).map(({ answer }) => JSON.parse(answer.text).data.createPost.id),
      },
    });
    expect(data.nodes).not.toContain(null);
  });
});

describe('a restore that is killed', () => {
  it('leaves a folder that no service starts on, until it is restored into again', async () => {
    const { dataDir, backups, restored } = await quickFolders();
    const server = await startServer(dataDir);
    const file = join(backups, 'backup');
    expect((await admin(['backup', file], dataDir)).code).toBe(0);
    server.kill('SIGTERM');
    await server.exited;

    const mark = () => statSync(join(restored, 'restoring'), { throwIfNoEntry: false })?.mtimeMs;
    /** Whether a restore works that has begun after this call. */
    const beginning = () => {
      const old = mark();
      return () => ![undefined, old].includes(mark());
    };
    const run = () => launchAdmin(['restore', file], restored);
    const moments = new Moments(await workOf(run(), beginning()));
    rmSync(restored, { recursive: true });
    // While the database is recovered, its socket is there.
    const recovering = run();
    await until('the socket', () => existsSync(join(restored, '.s.PGSQL.5432')));
    recovering.kill('SIGKILL');
    await recovering.exited;
    expect(readdirSync(restored)).toContain('.s.PGSQL.5432');
    for (let n = 0; moments.left; n += 1) {
      const begun = beginning();
      const restoring = run();
      const ended = await killAt(restoring, begun, moments.nextMs());
      moments.was({ ended });
      if (ended) expect((await restoring.exited).stderr).toBe('');
      if (mark() === undefined) {
        // As after one that nobody has killed.
        if (ended || existsSync(join(restored, 'postgres')))
          expect((await admin(['user', 'list'], restored)).json).toHaveLength(3);
        rmSync(restored, { recursive: true });
        continue;
      }
      if (n % 5 === 1)
        expectOneLine(
          await launchServer(restored).exited,
          /being restored into DATA_DIR .* run "admin restore" again/,
        );
    }
    expect((await run().exited).code).toBe(0);
    expect(readdirSync(restored).sort()).toEqual(['demo.json', 'lock', 'postgres']);
    await startServer(restored);
    expect((await admin(['user', 'list'], restored)).json).toHaveLength(3);
  });
});
