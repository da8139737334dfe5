import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blocksOf, pathOf } from '../support/docs/markdown.ts';
import { ROOT } from '../support/processes/process.ts';
import { startService } from './live-service.ts';

const PACKAGE = join(ROOT, 'packages/client');
const CHECKS = join(PACKAGE, 'checks');
const INSTALLED = join(ROOT, 'examples/clients/node_modules');

/** Runs a program. @throws {Error} with its output if it fails */
function run(folder: string, file: string, ...args: readonly string[]): string {
  try {
    return execFileSync(file, args, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? `${error.stdout}` : '';
    throw new Error(`${file} ${args.join(' ')}\n${output}`, { cause: error });
  }
}

const CORE = `
import { createClient, liveQuery, openChanges, readConnection, ContentGraphError, type Client, type StreamState } from 'content-graph-client';
const client: Client = createClient({ url: '/graphql', identity: 'ada' });
interface Posts { readonly postsConnection: { readonly nodes: readonly { readonly id: string }[]; readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null } } }
interface Change { readonly postId: string; readonly post: { readonly id: string } | null }
const changes = openChanges<{ changes: Change }, Change>(client, 'subscription { changes { postId } }', (data) => data.changes);
const list = liveQuery(changes, {
  document: '{ postsConnection { nodes { id } pageInfo { hasNextPage endCursor } } }',
  variables: (after) => ({ after }),
  list: (data: Posts) => readConnection(data.postsConnection),
  changed: ({ postId, post }) => ({ key: postId, item: post }),
});
export const ids: readonly string[] | undefined = list.current.items?.map(({ id }) => id);
export function show(state: StreamState): string {
  return state.status === 'reconnecting' ? state.reason : state.status;
}
export async function run(): Promise<string> {
  for await (const event of client.subscribe<{ tick: number }, object>('subscription { tick }', {}))
    if (event.type === 'data') return String(event.data.tick);
  const error = new ContentGraphError('CONFLICT', 'x');
  // @ts-expect-error The service has no such code.
  return error.code === 'NO_SUCH_CODE' ? '' : error.code;
}
`;

const ADAPTERS = `
import { ContentGraphProvider, useOnce } from 'content-graph-client/react';
import { contentGraphExchange } from 'content-graph-client/urql';
import { contentGraphLink } from 'content-graph-client/apollo';
import { createRelayNetwork } from 'content-graph-client/relay';
import { createLiveCache } from 'content-graph-client/tanstack';
import { followByEventSource } from 'content-graph-client/event-source';
import type { TypedDocumentNode } from '@urql/core';
declare const document: TypedDocumentNode<{ readonly create: boolean }, { readonly title: string }>;
export const publish = async (): Promise<boolean | undefined> => (await useOnce(document, 'write').send({ title: 'A' }))?.data.create;
export const all = [ContentGraphProvider, contentGraphExchange, contentGraphLink, createRelayNetwork, createLiveCache, followByEventSource];
`;

const RESOLUTIONS = [
  { module: 'node16', moduleResolution: 'node16' },
  { module: 'esnext', moduleResolution: 'bundler' },
];
const COMPILERS = [
  ['5.0', join(CHECKS, 'node_modules/typescript-5-0')],
  ['the newest', join(ROOT, 'node_modules/typescript')],
] as const;

describe('The packed client', () => {
  let folder = '';
  let tarball = '';

  beforeAll(() => {
    if (!existsSync(join(CHECKS, 'node_modules'))) run(CHECKS, 'npm', 'ci');
    folder = mkdtempSync(join(tmpdir(), 'content-graph-packed-'));
    const output = run(PACKAGE, 'npm', 'pack', '--json', '--pack-destination', folder);
    const [, filename = ''] = /"filename": "([^"]+)"/.exec(output) ?? [];
    tarball = join(folder, filename);
    const target = join(folder, 'node_modules/content-graph-client');
    mkdirSync(target, { recursive: true });
    run(target, 'tar', '--extract', '--strip-components=1', '--file', tarball);
    for (const library of '@apollo @tanstack @types @urql graphql react relay-runtime rxjs wonka'.split(
      ' ',
    )) {
      const link = join(folder, 'node_modules', library);
      mkdirSync(dirname(link), { recursive: true });
      symlinkSync(join(INSTALLED, library), link);
    }
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'core.ts'), CORE);
    writeFileSync(join(folder, 'adapters.ts'), ADAPTERS);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const check = (compiler: string, file: string, options: object) => {
    const strict = {
      strict: true,
      noEmit: true,
      target: 'es2022',
      types: [],
      exactOptionalPropertyTypes: true,
    };
    const lib = ['es2022', 'dom', 'dom.iterable'];
    const config = { compilerOptions: { ...strict, lib, ...options }, files: [file] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    return run(folder, process.execPath, join(compiler, 'bin/tsc'), '--project', folder);
  };

  it('passes publint and attw', () => {
    const bin = join(CHECKS, 'node_modules/.bin');
    expect(run(folder, join(bin, 'publint'), tarball, '--strict')).toContain('All good!');
    run(folder, join(bin, 'attw'), tarball, '--profile', 'esm-only');
  });

  it.each(
    COMPILERS.flatMap(([version, path]) => RESOLUTIONS.map((options) => ({ version, path, ...options }))),
  )('has types for TypeScript $version with $moduleResolution', ({ path, module, moduleResolution }) => {
    check(path, 'core.ts', { module, moduleResolution });
  });

  it.each(RESOLUTIONS)('has types of adapters with $moduleResolution', (options) => {
    check(join(INSTALLED, 'typescript'), 'adapters.ts', { ...options, skipLibCheck: true });
  });

  it('does what its README shows first', async () => {
    const service = await startService();
    const [example] = blocksOf(readFileSync(join(PACKAGE, 'README.md'), 'utf8')).filter(
      ({ language }) => language === 'js',
    );
    const script = (example?.text ?? '').replace('http://127.0.0.1:4000', service.origin);
    writeFileSync(join(folder, 'readme.mjs'), `process.env.KEY = '${service.key}';\n${script}`);
    expect(run(folder, process.execPath, 'readme.mjs')).toBe(example?.output);
  });

  it('has types for the page of its README', () => {
    const page = join(folder, 'page');
    mkdirSync(join(page, 'src'), { recursive: true });
    const blocks = blocksOf(readFileSync(join(PACKAGE, 'README.md'), 'utf8'));
    for (const block of blocks) {
      const path = pathOf(block);
      const text = block.text.replace('http://127.0.0.1:4000/graphql', join(ROOT, 'schema.graphql'));
      if (path !== undefined) writeFileSync(join(page, path), text);
    }
    for (const library of ['@0no-co', '@gql.tada', 'gql.tada']) {
      const link = join(folder, 'node_modules', library);
      symlinkSync(join(INSTALLED, library), link);
    }
    run(page, process.execPath, join(INSTALLED, 'gql.tada/bin/cli.js'), 'generate-output');
    // The folder of types has those of all adapters.
    const tsc = join(INSTALLED, 'typescript/bin/tsc');
    run(page, process.execPath, tsc, '--project', page, '--skipLibCheck');
  });

  it('is imported in Node without a page', () => {
    const script = `import { createClient, openChanges } from 'content-graph-client';
      import 'content-graph-client/event-source';
      const client = createClient({ url: 'http://127.0.0.1:1/graphql', identity: 'ada' });
      openChanges(client, 'subscription { changes { kind } }', (data) => data.changes).close();
      client.intent('write');
      client.close();
      console.log('done');`;
    expect(run(folder, process.execPath, '--input-type=module', '--eval', script)).toBe('done\n');
  });
});
