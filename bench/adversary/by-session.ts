/** What the account does with its password, its session and its OAuth client. */
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { postRequest } from '../harness/connection.ts';
import { CALLBACK } from './accounts.ts';
import {
  asked,
  CLIENT,
  type Move,
  ORIGIN,
  pageFields,
  sessionOf,
  steadily,
  type Target,
  whileWanted,
} from './sending.ts';
import { ask, cookieOf, fieldOf, formOf, getOf, type ResponseData } from './wire.ts';

const LOGGING_IN = 12;
const KEY_LOOPS = 5;
const SIGNING_IN = 4;

const logInAndOut: Move = async (target) => {
  const one = () =>
    whileWanted(target, 2, async () => {
      const cookie = await sessionOf(target);
      if (cookie === undefined) return void (await delay(200));
      const request = postRequest('/logout', {}, pageFields(cookie));
      await Promise.all(Array.from({ length: LOGGING_IN }, () => asked(target, request)));
    });
  await Promise.all(Array.from({ length: LOGGING_IN }, one));
};

/** Revokes the key of the round before, and creates another key. An operation can create only one. */
const keys: Move = async (target) => {
  const fields = pageFields(await sessionOf(target));
  const password = JSON.stringify(target.attacker.password);
  const created = `createApiKey(name: "made", scopes: ["posts:read"], currentPassword: ${password}) { apiKey { id } }`;
  const loop = async () => {
    let made: string | undefined;
    const turn = (then: string) => {
      const revoked = made === undefined ? '' : `revokeApiKey(id: "${made}")`;
      return postRequest('/graphql', { query: `mutation { ${revoked} ${then} }` }, fields);
    };
    await whileWanted(target, CLIENT / KEY_LOOPS, async () => {
      const { status, body } = await asked(target, turn(created));
      if (status === 200) made = /"id":"([^"]+)"/.exec(body)?.[1];
    });
    if (made !== undefined) await ask(target, turn('')).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: KEY_LOOPS }, loop));
};

const tokenRequest = ({ attacker: { client } }: Target, form: Record<string, string>) =>
  formOf('/oauth/token', form, {
    authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}`,
  });

const tokens: Move = (target) => {
  const request = tokenRequest(target, { grant_type: 'client_credentials' });
  return steadily(target, CLIENT, () => request);
};

/** A server that does nothing sends nobody anywhere: the next request goes there all the same. */
const nextPath = (response: ResponseData, otherwise: string) => {
  if (response.status >= 400) throw new Error('it is refused');
  return fieldOf(response, 'location') ?? otherwise;
};

/** A sign-in from the client to its tokens, and what the refresh token gives. */
async function signIn(target: Target, session: string): Promise<void> {
  const { client, id } = target.attacker;
  const verifier = randomBytes(32).toString('base64url');
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri: CALLBACK,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const begun = await asked(target, getOf(`/oauth/authorize?${parameters}`, { cookie: session }));
  const cookie = `${session}; ${cookieOf(begun, '__Host-oauth_browser') ?? ''}`;
  const page = nextPath(begun, '/oauth/interaction/none');
  let shown = await asked(target, getOf(page, { cookie }));
  if (shown.status === 200)
    shown = await asked(target, formOf(`${page}/allow`, { account: id }, { cookie, origin: ORIGIN }));
  const code = new URL(nextPath(shown, CALLBACK), ORIGIN).searchParams.get('code') ?? 'none';
  const given = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, code_verifier: verifier };
  const { body } = await asked(target, tokenRequest(target, given));
  const refresh = /"refresh_token":"([^"]+)"/.exec(body)?.[1] ?? 'none';
  await asked(target, tokenRequest(target, { grant_type: 'refresh_token', refresh_token: refresh }));
}

const signIns: Move = async (target) => {
  const session = (await sessionOf(target)) ?? '';
  const one = () => whileWanted(target, 2, () => signIn(target, session));
  await Promise.all(Array.from({ length: SIGNING_IN }, one));
};

export const BY_SESSION: Readonly<Record<string, Move>> = {
  'log-ins and log-outs': logInAndOut,
  'keys made and revoked': keys,
  'tokens of an OAuth client': tokens,
  'OAuth sign-ins and refreshes': signIns,
};
