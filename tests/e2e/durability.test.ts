import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { until } from '../support/processes/process.ts';
import { demoKey, launchServer, startServer } from '../support/processes/server.ts';

describe('the embedded database', () => {
  it('keeps every post that was answered before kill -9', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const responded: string[] = [];
    const write = async () => {
      for (;;) {
        const created = await server.gql(
          'mutation { createPost(title: "kept", body: "b", tags: ["kept"]) { id } }',
          { key },
        );
        if (created.status === 200) responded.push(created.data.createPost.id);
      }
    };
    // Each writer ends with the connection.
    const writers = Promise.allSettled([write(), write(), write()]);
    await until('40 posts', () => responded.length >= 40);
    server.kill('SIGKILL');
    expect((await server.exited).signal).toBe('SIGKILL');
    await writers;

    const again = await startServer(dataDir);
    const kept = new Set<string>();
    for (let after: string | null = null; ; ) {
      const { data } = await again.gql(
        'query ($after: String) { postsConnection(first: 100, after: $after, tag: "kept") { nodes { id author { name } } pageInfo { hasNextPage endCursor } } }',
        { key, variables: { after } },
      );
      const { nodes, pageInfo } = data.postsConnection;
      for (const { id, author } of nodes) {
        kept.add(id);
        expect(author.name).toBe('Ada');
      }
      if (!pageInfo.hasNextPage) break;
      after = pageInfo.endCursor;
    }
    expect(responded.filter((id) => !kept.has(id))).toEqual([]);
  });

  it('rejects its folder to a second server, until the first is gone, however that dies', async () => {
    const dataDir = await migratedFolder();
    const first = await startServer(dataDir);
    const rejected = await launchServer(dataDir).exited;
    expect(rejected.code).toBe(1);
    expect(rejected.stderr).toContain(`"${dataDir}" is in use by another process`);
    expect(rejected.stderr).toContain('DATA_DIR');
    expect(rejected.stderr).not.toContain('    at ');
    const key = await demoKey(dataDir);
    expect((await first.gql('{ viewer { name } }', { key })).data.viewer.name).toBe('Ada');
    first.kill('SIGKILL');
    await first.exited;
    const second = await startServer(dataDir);
    expect((await second.gql('{ viewer { name } }', { key })).data.viewer.name).toBe('Ada');
  });
});
