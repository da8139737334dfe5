import './document.ts';

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { blocksOf } from '../support/docs/markdown.ts';
import { ROOT, runShell, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { countAnswers } from './answers.ts';
import { type LiveService, startService } from './live-service.ts';
import { type ClientById, TOOLCHAINS, type Toolchain } from './toolchains.ts';

const blocks = blocksOf(readFileSync(join(ROOT, 'docs/guides/trusted-documents.md'), 'utf8'));
/** The client sends a document of graphql-codegen if its id is unknown. */
const UNKNOWN =
  /PersistedQueryNotFound|Document "[^"]*" is not published|Only published documents are allowed/;

/** Publishes what the tool has made, by the line that the page has for it. */
async function publish({ name, section }: Toolchain, { dataDir }: LiveService): Promise<unknown> {
  const shown = blocks.find((block) => block.section === section && block.flags.includes('tools'));
  const line = shown?.text.replace('codegen-6', name.startsWith('codegen') ? name : 'codegen-6');
  const { code, stdout, stderr } = await runShell(line ?? 'false', { DATA_DIR: dataDir });
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}

/** Whether the ids of a client are unknown. It asks for something else each time: clients remember answers. */
async function isRejected({ read }: ClientById): Promise<boolean> {
  try {
    await read(crypto.randomUUID());
    return false;
  } catch (error) {
    return UNKNOWN.test(String(error));
  }
}

/** The requests of clients in this process. */
function recordRequests(): readonly { readonly method: string; readonly path: string }[] {
  const requests: { method: string; path: string }[] = [];
  const note = (message: unknown) => {
    const { request } = message as { request: { method: string; path: string } };
    requests.push({ method: request.method, path: request.path });
  };
  subscribe('undici:request:create', note);
  onTestFinished(() => void unsubscribe('undici:request:create', note));
  return requests;
}

describe('where only ids may be sent', () => {
  it('a manifest is published as its tool has made it, and its client runs until the release is retired', async () => {
    const service = await startService({ TRUSTED_DOCUMENTS: 'required' });
    const answers = countAnswers(service.origin);
    const { errors } = await service.query('{ posts { id } }');
    expect(errors).toMatchObject([{ extensions: { code: 'DOCUMENT_REQUIRED' } }]);
    for (const toolchain of TOOLCHAINS) {
      const { name, connect } = toolchain;
      const client = connect(service);
      await expect(client.read('unpublished'), name).rejects.toThrow(UNKNOWN);
      expect(await publish(toolchain, service), name).toEqual({ published: 3, unchanged: 0, rejected: [] });

      const told: string[] = [];
      const before = answers.opened;
      const stop = client.follow((title) => told.push(title));
      await until(`the stream of ${name}`, () => answers.opened > before);
      await client.create(`by ${name}`);
      await until(`the event for ${name}`, () => told.includes(`by ${name}`));
      stop();
      expect(await client.read('by-id'), name).toContain(`by ${name}`);

      const retire = ['document', 'retire', '--client', 'web', '--release', '1.4.0'];
      expect((await admin(retire, service.dataDir)).json, name).toEqual({ retired: 3 });
      await until(`the end of the release for ${name}`, () => isRejected(client));
    }
  });

  it('urql reads by GET, and its cache knows the types', async () => {
    const service = await startService({ TRUSTED_DOCUMENTS: 'required' });
    const [urql] = TOOLCHAINS.filter(({ name }) => name === 'urql');
    if (urql === undefined) throw new Error('urql is one of them');
    await publish(urql, service);
    const requests = recordRequests();
    const client = urql.connect(service);
    await client.create('older');
    expect(await client.read('by-id')).toEqual(['older']);
    expect(requests).toMatchObject([
      { method: 'POST', path: '/graphql' },
      { method: 'GET', path: expect.stringContaining('documentId') },
    ]);
    expect(requests[1]?.path).not.toContain('query=');
    // What was published has the names of types: the mutation tells the cache.
    await client.create('newer');
    expect(await client.read('by-id')).toEqual(['newer', 'older']);
  });
});
