import { describe, expect, it } from 'vitest';
import { migratedFolder } from '../support/processes/migrated-folder.ts';

import { admin, demoKey, startServer } from '../support/processes/server.ts';
import { received, subscribe } from '../support/streams/subscriber.ts';

describe('admin event-log reset', () => {
  it('ends the history of a running server: open streams break off, and their ids have expired', async () => {
    const dataDir = await migratedFolder();
    const server = await startServer(dataDir);
    const key = await demoKey(dataDir);
    const service = { fetch: (path: string, init?: RequestInit) => fetch(server.origin + path, init) };
    const stream = await subscribe(service, { key });
    const { code, json } = await admin(['event-log', 'reset'], dataDir);
    expect({ code, json }).toEqual({
      code: 0,
      json: { firstEventChecksum: expect.stringMatching(/^[0-9a-f]{20}$/) },
    });
    // fetch says of a connection that is closed in the middle of a response that it was terminated.
    await expect(stream.stream.event()).rejects.toThrow('terminated');
    const back = await subscribe(service, { key, header: stream.startId });
    const { errors } = received(await back.stream.event());
    expect(errors).toMatchObject([{ extensions: { code: 'EVENT_HISTORY_EXPIRED' } }]);
    expect(await back.stream.event()).toMatchObject({ event: 'complete' });
  });
});
