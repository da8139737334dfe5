import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useApp } from '../support/app.ts';
import { instanceWithCuttableListener, postgresOf } from '../support/database/postgres.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import { admin } from '../support/processes/server.ts';
import { readEventStream } from '../support/streams/event-stream.ts';

const app = useApp();

const TEXTS = {
  query: '{ answered: posts { id } }',
  stream: 'subscription { postCreated { id } }',
  late: '{ late: posts { id } }',
};

async function documents(...args: string[]): Promise<void> {
  const done = await admin(['document', ...args], await temporaryFolder(), {
    DATABASE_URL: postgresOf(app).url,
  });
  expect(done, done.stderr).toMatchObject({ code: 0 });
}

async function publish(release: string, ids: readonly (keyof typeof TEXTS)[]): Promise<void> {
  const file = join(await temporaryFolder(), 'documents.json');
  await writeFile(file, JSON.stringify(Object.fromEntries(ids.map((id) => [id, TEXTS[id]]))));
  await documents('publish', '--client', 'web', '--release', release, file);
}

it('an instance whose connection that listens is cut rejects what is retired meanwhile, and ends its streams once it hears again', async () => {
  const { instance, listener, expectListening } = await instanceWithCuttableListener(app);
  const { key } = await app.account();
  const ask = (documentId: keyof typeof TEXTS) =>
    instance.fetch('/graphql', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: documentId === 'stream' ? 'text/event-stream' : 'application/json',
        authorization: `Bearer ${key}`,
      },
      body: JSON.stringify({ documentId }),
    });

  await publish('r1', ['query', 'stream']);
  await expectListening(true);
  const stream = readEventStream(await ask('stream'));
  await stream.block();
  expect((await ask('query')).status).toBe(200);

  await listener.off();
  await expectListening(false);
  expect((await ask('query')).status).toBe(200);
  await documents('retire', '--client', 'web', '--release', 'r1');
  expect((await ask('query')).status).toBe(404);
  await publish('r2', ['late']);
  expect((await ask('late')).status).toBe(200);

  await listener.on();
  const { errors } = await stream.next();
  expect(errors).toMatchObject([{ extensions: { code: 'DOCUMENT_NOT_FOUND' } }]);
  expect(await stream.event()).toMatchObject({ event: 'complete' });
  await expectListening(true);
  expect((await ask('query')).status).toBe(404);
  expect((await ask('late')).status).toBe(200);
});
