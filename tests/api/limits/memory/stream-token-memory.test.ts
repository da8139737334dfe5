import { expect, it } from 'vitest';
import { useApp } from '../../../support/app.ts';
import { liveBytes } from '../../../support/processes/live-bytes.ts';
import { issueToken, openByToken } from '../../../support/streams/stream-token.ts';

const STREAMS = 30;
/** Much more than the text of it, and nothing that the subscription uses: nobody has it once the stream is open. */
const UNDECLARED = { z: Array.from({ length: 5_000 }, () => []) };

const app = useApp({ settings: { MAX_STREAMS_PER_CLIENT: '1000' } });

it('An open stream does not keep the operation that its token had stored', async () => {
  const { key } = await app.account();
  const token = await issueToken(
    app,
    { authorization: `Bearer ${key}` },
    { query: 'subscription { postCreated { title } }', variables: UNDECLARED },
  );
  const open = () => Promise.all(Array.from({ length: STREAMS }, () => openByToken(app, token)));
  // What the first ones load and compile is there for good.
  const opened = await open();
  const before = await liveBytes();
  opened.push(...(await open()));
  // A stream has a client, a response and its place in memory too.
  expect(((await liveBytes()) - before) / STREAMS).toBeLessThan(60_000);
  for (const { stream } of opened) await stream.close();
});
