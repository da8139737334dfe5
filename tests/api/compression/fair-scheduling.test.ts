import { randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { createCompression } from '../../../src/http/hooks/compression.ts';
import { HttpResponse, PlainRequest } from '../../../src/http/message.ts';
import { NOT_FOUND_ROUTE, PUBLIC_ROUTE } from '../../../src/http/routes/table.ts';
import { admittedRequest } from '../../support/admitted-request.ts';

const CROWD = 30;
/** Takes a thread for many times as long as it takes to begin the next. */
const TEXT = randomBytes(500_000).toString('hex');
const URL_ASKED = 'http://127.0.0.1/graphql';

it('Whoever asks for one large response does not wait behind all of another who asks for many', async () => {
  const compression = createCompression();
  const route = { ...NOT_FOUND_ROUTE, ...PUBLIC_ROUTE };
  const finished: string[] = [];
  const ask = async (peerAddress: string) => {
    const request = new PlainRequest('GET', URL_ASKED, { 'accept-encoding': 'gzip' }, new Uint8Array());
    const admitted = admittedRequest(peerAddress, { route });
    const response = new HttpResponse(TEXT, { headers: { 'content-type': 'application/json' } });
    const coding = compression.choose(response, request, admitted, new URL(URL_ASKED));
    if (coding === undefined) throw new Error('The answer is not compressed.');
    await compression.encode(response, coding, admitted);
    finished.push(peerAddress);
  };
  const crowd = Array.from({ length: CROWD }, () => ask('192.0.2.1'));
  await Promise.all([...crowd, ask('192.0.2.2')]);
  expect(finished).toHaveLength(CROWD + 1);
  // Two are in the threads when it comes.
  expect(finished.indexOf('192.0.2.2')).toBeLessThan(CROWD / 3);
});
