import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';
import { runShell, temporaryFolder } from '../support/processes/process.ts';
import { demoKey, startServer } from '../support/processes/server.ts';

const pageAt = async (address: string) => (await fetch(address, { headers: { accept: 'text/html' } })).text();

describe('first start in development', () => {
  it('prints the address of GraphiQL, the demo key and password, and a curl line that works when pasted', async () => {
    const dataDir = await temporaryFolder();
    const server = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const { port } = new URL(server.origin);
    const address = (name: string, path: string) =>
      new RegExp(`${name}\\s+(http://localhost:${port}${path}\\?token=[\\w-]{22})(?= |$)`, 'm').exec(
        server.stdout,
      )?.[1];
    // Before the code of the service is loaded and the database is created.
    expect(server.stdout.split('\n')[0]).toContain('service.starting');
    for (const printed of [
      `Account page +http://localhost:${port}/account$`,
      `Example page +http://localhost:${port}/example/`,
    ])
      expect(server.stdout).toMatch(new RegExp(printed, 'm'));
    for (const printed of [address('Start page', '/'), address('GraphiQL', '/graphql')])
      expect(await pageAt(printed ?? 'http://localhost:1')).toContain(key);
    // What everybody on the machine can ask for.
    for (const path of ['/', '/graphql']) {
      const text = await pageAt(`${server.origin}${path}`);
      expect(text).not.toContain(key);
      expect(text).toContain('?token=…');
    }
    expect(server.stdout).toMatch(new RegExp(`Demo API key\\s+${key}`));
    expect(server.stdout).toMatch(
      /Demo password\s+\S{12,}\s+\(ada@example\.com, linus@example\.com, grace@example\.com\)/,
    );
    const line = /^curl .*$/m.exec(server.stdout)?.[0] ?? 'false';
    const pasted = await runShell(line);
    expect(pasted.code, pasted.stderr).toBe(0);
    const { data, errors } = JSON.parse(pasted.stdout);
    expect(errors).toBeUndefined();
    expect(data.posts).toHaveLength(3);
    for (const post of data.posts)
      expect(post).toEqual({
        title: expect.stringMatching(/\S/),
        author: { name: expect.stringMatching(/^(Ada|Linus|Grace)$/) },
      });
  });

  it('seeds users with posts, comments and tags, for a key with every scope of a member', async () => {
    const dataDir = await temporaryFolder();
    const server = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const read = await server.gql(
      '{ viewer { name email } users { name } posts { tags commentCount comments { author { name } } } }',
      { key },
    );
    expect(read.errors).toBeUndefined();
    expect(read.data.viewer).toEqual({ name: 'Ada', email: 'ada@example.com' });
    expect(read.data.users.map(({ name }: { name: string }) => name)).toEqual(['Ada', 'Linus', 'Grace']);
    const posts: { tags: string[]; commentCount: number; comments: unknown[] }[] = read.data.posts;
    expect(posts.some(({ tags }) => tags.length > 0)).toBe(true);
    expect(posts.some(({ comments }) => comments.length > 0)).toBe(true);
    for (const { commentCount, comments } of posts) expect(comments).toHaveLength(commentCount);
    const written = await server.gql(
      'mutation { createPost(title: "t", body: "b") { author { name } comments { id } } }',
      { key },
    );
    expect(written.data).toEqual({ createPost: { author: { name: 'Ada' }, comments: [] } });
    const others = await server.gql('{ users { email } }', { key });
    expect(others.errors?.[0]?.extensions.code).toBe('FORBIDDEN');
  });

  it('keeps the credentials in demo.json for their owner alone, and prints the same at the next start', async () => {
    const dataDir = await temporaryFolder();
    const first = await startServer(dataDir);
    const key = await demoKey(dataDir);
    expect((await stat(join(dataDir, 'demo.json'))).mode & 0o777).toBe(0o600);
    first.kill('SIGTERM');
    expect((await first.exited).code).toBe(0);
    const second = await startServer(dataDir);
    expect(second.stdout).toContain(key);
    const tokenOf = ({ stdout }: { readonly stdout: string }) => /\?token=([\w-]+)/.exec(stdout)?.[1];
    expect(tokenOf(second)).toBe(tokenOf(first));
    expect((await second.gql('{ posts(limit: 100) { id } }', { key })).data.posts).toHaveLength(6);
  });

  it('prints no token and shows no key on its pages where HOST is no loopback address', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir, { HOST: '0.0.0.0' });
    const { apiKey, pageToken } = JSON.parse(await readFile(join(dataDir, 'demo.json'), 'utf8'));
    const { port } = new URL(server.origin);
    expect(server.stdout).toMatch(new RegExp(`GraphiQL\\s+http://localhost:${port}/graphql$`, 'm'));
    expect(server.stdout).not.toContain('token=');
    expect(server.stdout).not.toContain(pageToken);
    for (const host of ['localhost', '127.0.0.1'])
      for (const path of ['/', '/graphql']) {
        const page = await pageAt(`http://${host}:${port}${path}?token=${pageToken}`);
        expect(page).toMatch(/^<!doctype html>/i);
        expect(page).not.toContain(apiKey);
      }
  });

  it('answers introspection without credentials, and serves GraphiQL', async () => {
    const server = await startServer(await temporaryFolder());
    expect((await server.gql('{ __schema { queryType { name } } }')).data.__schema.queryType.name).toBe(
      'Query',
    );
    const page = await fetch(`${server.origin}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
  });
});
