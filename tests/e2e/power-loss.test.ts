import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, until } from '../support/processes/process.ts';
import { admin, launchServer, productionSettings, startServer } from '../support/processes/server.ts';

const FLUSHED_ONLY = `--import=${new URL('../support/processes/flushed-only.mjs', import.meta.url).href}`;

/** Settings of a server that keeps in `to` what a loss of power would leave of `from`. */
const losingPower = (from: string, to: string) => ({
  NODE_OPTIONS: FLUSHED_ONLY,
  FLUSHED_FROM: from,
  FLUSHED_TO: to,
});

describe('the embedded database', () => {
  it('keeps every post that was answered before a loss of power, on a disk that keeps what was flushed', async () => {
    const [dataDir, left] = [await temporaryFolder(), await temporaryFolder()];
    const settings = productionSettings();
    const server = await startServer(dataDir, { ...settings, ...losingPower(dataDir, left) });
    expect(server.stdout).toMatch(/loss of power/);
    const email = 'op@example.org';
    const user = ['user', 'create', '--name', 'Op', '--email', email, '--password', 'a long passphrase'];
    expect((await admin(user, dataDir, settings)).code).toBe(0);
    const scopes = 'posts:read posts:write';
    const create = ['api-key', 'create', '--user', email, '--name', 'k', '--scopes', scopes];
    const { key } = (await admin(create, dataDir, settings)).json;
    const responded: string[] = [];
    const write = async () => {
      for (;;) {
        const created = await server.gql('mutation { createPost(title: "kept", body: "b") { id } }', { key });
        if (created.status === 200) responded.push(created.data.createPost.id);
      }
    };
    // Each writer ends with the connection.
    const writers = Promise.allSettled([write(), write(), write()]);
    await until('20 posts', () => responded.length >= 20);
    server.kill('SIGKILL');
    await writers;

    const again = await startServer(left, settings);
    const { data } = await again.gql('{ posts(limit: 100) { id } }', { key });
    const kept = new Set(data.posts.map(({ id }: { id: string }) => id));
    expect(responded.filter((id) => !kept.has(id))).toEqual([]);
  });

  it('is made whole or not at all where the first start dies on the way', async () => {
    let dataDir = '';
    for (let wasDraft = false; !wasDraft; ) {
      const left = await temporaryFolder();
      dataDir = await temporaryFolder();
      const dying = launchServer(dataDir, losingPower(dataDir, left));
      const isDraft = () => existsSync(join(dataDir, 'postgres.new/base'));
      // The database may be whole before this process looks at it again.
      await until('a draft of the database', () => isDraft() || existsSync(join(dataDir, 'postgres')));
      dying.kill('SIGKILL');
      await dying.exited;
      wasDraft = isDraft();
    }
    await startServer(dataDir);
    expect(existsSync(join(dataDir, 'postgres.new'))).toBe(false);
  });
});
