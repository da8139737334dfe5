import { expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { jwk, lastingToken, type Relying, relyingOn, useIssuer } from '../../support/credentials/issuer.ts';
import { newEcPair } from '../../support/credentials/tokens.ts';
import type { EventStream } from '../../support/streams/event-stream.ts';
import { issueToken, openByToken, requestByToken } from '../../support/streams/stream-token.ts';
import { subscribe } from '../../support/streams/subscriber.ts';

const app = useApp();
const issuer = useIssuer();
const [A, B] = [newEcPair(), newEcPair()];
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** A test with a token of the key A, which the issuer publishes, and one of B, which it does not yet. */
const withTokens = (work: (on: Relying, a: string, b: string) => Promise<void>) => async () => {
  const { id } = await app.account();
  const [a, b] = [await lastingToken(id, A, 'A'), await lastingToken(id, B, 'B')];
  await relyingOn(app, issuer, [jwk(A, 'A')], (on) => work(on, a, b));
};

const replaceKey = () => {
  issuer.published = [jwk(B, 'B')];
};

async function expectEnd(stream: EventStream): Promise<void> {
  const { errors } = await stream.next();
  expect(errors.map((error: { extensions: { code: string } }) => error.extensions.code)).toEqual([
    'UNAUTHENTICATED',
  ]);
  expect((await stream.event())?.event).toBe('complete');
}

it.each([
  ['nobody has set', 0],
  ['was a day ahead and is set right', -DAY_MS],
  ['was a day behind and is set right', DAY_MS],
])('a withdrawn key is worth nothing after ten minutes, on a machine whose clock %s', (_what, adjustment) =>
  withTokens(async ({ clock, status }, a, b) => {
    expect(await status(a)).toBe(200);
    clock.adjust(adjustment);
    replaceKey();
    clock.advance(10 * MINUTE_MS);
    expect(await status(b)).toBe(200);
    expect(await status(a)).toBe(401);
  })(),
);

it(
  'a new key is known half a minute after the last fetch, whatever the time of day',
  withTokens(async ({ clock, status }, a, b) => {
    expect(await status(a)).toBe(200);
    replaceKey();
    clock.adjust(-DAY_MS);
    expect(await status(b)).toBe(401);
    clock.advance(30_000);
    expect(await status(b)).toBe(200);
    expect(issuer.asked).toBe(2);
  }),
);

it(
  'the streams that a withdrawn key has opened end with it, though no request comes',
  withTokens(async (on, a) => {
    const { stream } = await subscribe(on, { key: a });
    replaceKey();
    on.clock.advance(9 * MINUTE_MS);
    await expectEnd(stream);
  }),
);

it(
  'the stream tokens that were issued to its JWTs end with it',
  withTokens(async (on, a, b) => {
    const token = await issueToken(on, { authorization: `Bearer ${a}` });
    const { stream } = await openByToken(on, token);
    replaceKey();
    expect((await requestByToken(on, token)).status).toBe(200);
    on.clock.advance(10 * MINUTE_MS);
    await expectEnd(stream);
    expect((await requestByToken(on, token)).status).toBe(401);
    // An instance that has fetched nothing yet asks whether the key still counts.
    await relyingOn(app, issuer, [jwk(B, 'B')], async (fresh) => {
      expect((await requestByToken(fresh, token)).status).toBe(401);
      expect(
        (await requestByToken(fresh, await issueToken(fresh, { authorization: `Bearer ${b}` }))).status,
      ).toBe(200);
    });
  }),
);

it(
  'a stream goes on through an outage of the issuer, for an hour, and ends then',
  withTokens(async (on, a) => {
    const { stream } = await subscribe(on, { key: a });
    issuer.sendKeys = (response) => void response.writeHead(500).end();
    on.clock.advance(9 * MINUTE_MS);
    // It is the stream that makes the service ask.
    await expect.poll(() => issuer.asked).toBe(2);
    on.clock.advance(50 * MINUTE_MS);
    expect(await on.status(a)).toBe(200);
    on.clock.advance(MINUTE_MS);
    await expectEnd(stream);
    expect(await on.status(a)).toBe(503);
  }),
);

it(
  'a key that is published for something else from now on counts as withdrawn',
  withTokens(async ({ clock, status }, a) => {
    expect(await status(a)).toBe(200);
    issuer.published = [jwk(A, 'A', { use: 'enc' })];
    clock.advance(10 * MINUTE_MS);
    expect(await status(a)).toBe(401);
  }),
);
