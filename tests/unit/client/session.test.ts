import { expect, it, onTestFinished } from 'vitest';
import { createClientWithClock } from '../../../packages/client/src/client.ts';
import { failure, json, page, type StubReply, startStub } from '../../support/client/service-stub.ts';
import { createVirtualClock } from '../../support/client/virtual-clock.ts';
import { until } from '../../support/processes/process.ts';

const ADA = { id: '1', name: 'Ada', email: 'ada@example.com' };
const BUSY = failure('RATE_LIMITED', 429, { 'retry-after': '7' });
const SIGNED_OUT: StubReply = (response) => void response.writeHead(204).end();

async function open(...replies: readonly StubReply[]) {
  const stub = await startStub(...replies);
  const clock = createVirtualClock();
  const client = createClientWithClock({ url: stub.url }, clock);
  onTestFinished(() => client.close());
  return { stub, clock, session: client.session };
}

it('The account of a session is asked for again after a rejection that passes', async () => {
  const { stub, session } = await open(BUSY, json({ user: ADA }));
  const waits: string[] = [];
  expect(await session.getViewer({ onRetry: ({ code }) => waits.push(code) })).toEqual(ADA);
  expect(waits).toEqual(['RATE_LIMITED']);
  expect(stub.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /login', 'GET /login']);
});

it('A page of a network is not an account', async () => {
  const { session } = await open(page(200));
  await expect(session.getViewer()).rejects.toMatchObject({ code: 'UNEXPECTED_RESPONSE', httpStatus: 200 });
});

it('Signing out is repeated, and a login waits for it, because its response removes the cookie', async () => {
  const { stub, session } = await open(BUSY, SIGNED_OUT, json({ user: ADA }));
  const leaving = session.signOut();
  expect(await session.signIn(ADA.email, 'secret')).toEqual(ADA);
  await leaving;
  expect(stub.requests.map(({ path }) => path)).toEqual(['/logout', '/logout', '/login']);
});

it('A password is sent once', async () => {
  const { stub, session } = await open(BUSY);
  await expect(session.signIn(ADA.email, 'secret')).rejects.toMatchObject({ retryAfterMs: 7_000 });
  expect(stub.requests).toHaveLength(1);
});

it('A login whose cookie the browser drops fails with the reason', async () => {
  const { session } = await open(json({ user: ADA }, 200, { 'x-session-warning': 'Another site.' }));
  await expect(session.signIn(ADA.email, 'secret')).rejects.toMatchObject({
    code: 'UNAUTHENTICATED',
    message: 'Another site.',
  });
});

it('A request of a session without a response is repeated after 15 s', async () => {
  const { stub, clock, session } = await open(() => undefined, json({ user: null }));
  const viewer = session.getViewer();
  await until('the request', () => stub.requests.length === 1);
  clock.advance(15_000);
  expect(await viewer).toBeNull();
});
