import './document.ts';

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT, until } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { countAnswers } from './answers.ts';
import { startService } from './live-service.ts';
import { TOOLCHAINS } from './toolchains.ts';

const GENERATED = join(ROOT, 'examples/clients/documents/generated');
const UNKNOWN = /PersistedQueryNotFound|There is no published document with this id/;

/** The requests of clients in this process: their methods and paths. */
function recordRequests(): { readonly method: string; readonly path: string }[] {
  const requests: { method: string; path: string }[] = [];
  const note = (message: unknown) => {
    const { request } = message as { request: { method: string; path: string } };
    requests.push({ method: request.method, path: request.path });
  };
  subscribe('undici:request:create', note);
  onTestFinished(() => void unsubscribe('undici:request:create', note));
  return requests;
}

const publish = (dataDir: string, client: string, file: string, ...options: string[]) =>
  admin(['documents', 'publish', '--client', client, '--release', '1', ...options, file], dataDir);

describe('a manifest', () => {
  it('is published as its tool makes it, and its client runs by id alone', async () => {
    const service = await startService({ TRUSTED_DOCUMENTS: 'required' });
    const { dataDir } = service;
    const answers = countAnswers(service.origin);
    expect((await service.query('{ posts { id } }')).errors).toMatchObject([
      { extensions: { code: 'DOCUMENT_REQUIRED' } },
    ]);
    for (const { name, manifest, connect } of TOOLCHAINS) {
      const client = connect(service);
      await expect(client.read('unpublished'), name).rejects.toThrow(UNKNOWN);
      expect(await publish(dataDir, name, join(GENERATED, manifest)), name).toMatchObject({
        code: 0,
        json: { published: 3, unchanged: 0, refused: [] },
      });
      const told: string[] = [];
      const before = answers.opened;
      const stop = client.follow((title) => told.push(title));
      await until(`the stream of ${name}`, () => answers.opened > before);
      await client.create(`by ${name}`);
      await until(`the event for ${name}`, () => told.includes(`by ${name}`));
      stop();
      expect(await client.read('by-id'), name).toContain(`by ${name}`);

      const retire = ['documents', 'retire', '--client', name, '--release', '1'];
      expect(await admin(retire, dataDir), name).toMatchObject({ code: 0, json: { retired: 3 } });
      await expect(client.read('retired'), name).rejects.toThrow(UNKNOWN);
    }
  });

  it('lets urql read by GET, with an id in the place of the text', async () => {
    const service = await startService({ TRUSTED_DOCUMENTS: 'required' });
    const urql = TOOLCHAINS.find(({ name }) => name === 'urql');
    await publish(service.dataDir, 'urql', join(GENERATED, urql?.manifest ?? ''));
    const requests = recordRequests();
    const client = urql?.connect(service);
    await client?.create('older');
    expect(requests).toMatchObject([{ method: 'POST', path: '/graphql' }]);
    expect(await client?.read('by-id')).toEqual(['older']);
    expect(requests[1]).toMatchObject({ method: 'GET', path: expect.stringContaining('sha256Hash') });
    expect(requests[1]?.path).not.toContain('query=');
    // What was published has the names of types: the mutation tells the cache.
    await client?.create('newer');
    expect(await client?.read('by-id')).toEqual(['newer', 'older']);
  });
});
