import { expect, it } from 'vitest';
import { revokeToken } from '../../../src/auth/jwt.ts';
import { deleteOAuthClient } from '../../../src/features/oauth/clients.ts';
import { adminCommand } from '../../support/admin-command.ts';
import { useApp } from '../../support/app.ts';
import { createPost } from '../../support/content.ts';
import {
  CREDENTIALS,
  type Credential,
  expectEnded,
  type Holder,
  holder,
} from '../../support/credentials/holdings.ts';
import { basic, postForm } from '../../support/credentials/oauth.ts';
import { freshCookie, gqlAs, PASSWORD } from '../../support/credentials/session.ts';
import { JWT_SECRET } from '../../support/credentials/tokens.ts';
import { dataOf } from '../../support/rejection.ts';
import { secondInstance } from '../../support/second-instance.ts';
import { readEventStream } from '../../support/streams/event-stream.ts';

// Nothing but a notification can end a stream in time.
const app = useApp({ settings: { JWT_SECRET, CREDENTIAL_RECHECK_MS: '30000' } });

const prisma = () => app.prisma;
const idOf = async (table: 'apiKeys' | 'oauthGrants' | 'externalIdentities', cookie: string) =>
  (await gqlAs(app, cookie, `{ viewer { ${table} { id } } }`)).data.viewer[table][0].id as string;

const CHANGE = `mutation { changePassword(currentPassword: "${PASSWORD}", newPassword: "${PASSWORD}!") }`;
const OF_PASSWORD = [
  'session',
  'stream token of the session',
  'stream token of the key',
  'OAuth grant',
] as const;

/** Who ends what, and which streams end with that. */
const ENDINGS: [string, readonly Credential[], (who: Holder) => Promise<unknown>][] = [
  [
    'revokeApiKey',
    ['key', 'stream token of the key'],
    async ({ cookie }) =>
      gqlAs(app, cookie, `mutation { revokeApiKey(id: "${await idOf('apiKeys', cookie)}") }`),
  ],
  [
    'revokeGrant',
    ['OAuth grant'],
    async ({ cookie }) =>
      gqlAs(app, cookie, `mutation { revokeGrant(id: "${await idOf('oauthGrants', cookie)}") }`),
  ],
  [
    'unlinkIdentity',
    ['JWT'],
    async ({ cookie, email }) => {
      await adminCommand(app, ['user', 'link', email, '--issuer', 'i', '--subject', email]);
      const id = await idOf('externalIdentities', cookie);
      expect(dataOf(await gqlAs(app, cookie, `mutation { unlinkIdentity(id: "${id}") }`))).toEqual({
        unlinkIdentity: true,
      });
    },
  ],
  ['changePassword', OF_PASSWORD, async ({ cookie }) => dataOf(await gqlAs(app, cookie, CHANGE))],
  [
    'changePassword in another session',
    OF_PASSWORD,
    async ({ email }) => dataOf(await gqlAs(app, await freshCookie(app, email), CHANGE)),
  ],
  [
    'revokeEverything',
    CREDENTIALS,
    async ({ cookie }) =>
      dataOf(await gqlAs(app, cookie, `mutation { revokeEverything(currentPassword: "${PASSWORD}") }`)),
  ],
  [
    'logout',
    ['session', 'stream token of the session'],
    ({ cookie }) =>
      app.fetch('/logout', { method: 'POST', headers: { cookie, origin: 'http://127.0.0.1:4000' } }),
  ],
  [
    'the revocation of an access token',
    ['OAuth grant'],
    ({ granted: { client, access } }) => postForm(app, '/oauth/revoke', { token: access }, basic(client)),
  ],
  [
    'the revocation of a refresh token',
    ['OAuth grant'],
    ({ granted: { client, refresh } }) => postForm(app, '/oauth/revoke', { token: refresh }, basic(client)),
  ],
  ['jwt revoke', ['JWT'], ({ id }) => revokeToken(app.database, { jti: `jti of ${id}` })],
  [
    'oauth-client delete',
    ['OAuth grant'],
    ({ granted }) => deleteOAuthClient(app.database, granted.client.id),
  ],
  [
    'oauth-client delete of its own',
    ['own OAuth client'],
    ({ ownClient }) => deleteOAuthClient(app.database, ownClient.id),
  ],
  [
    'the end of the account that owns the client of a grant',
    ['OAuth grant'],
    async ({ granted }) => {
      const { ownerId } = await prisma().oAuthClient.findUniqueOrThrow({ where: { id: granted.client.id } });
      await prisma().user.update({ where: { id: ownerId }, data: { disabledAt: new Date() } });
    },
  ],
];

it.each(ENDINGS)(
  '%s ends the streams of what it ends on every instance, and no others',
  async (_name, ended, end) => {
    const who = await holder(app, [app, secondInstance(app)]);
    await end(who);
    for (const credential of ended) for (const stream of who.streams[credential]) await expectEnded(stream);
    const writer = await app.account();
    const id = await createPost(app, writer.key);
    for (const credential of CREDENTIALS.filter((one) => !ended.includes(one)))
      for (const stream of who.streams[credential])
        expect((await stream.next()).data.postCreated.id, credential).toBe(id);
  },
);

it('a stream that begins just after its credentials have ended is ended, too', async () => {
  const { id, key } = await app.account();
  const ask = () =>
    app.fetch('/graphql?query=subscription{postCreated{id}}', {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${key}` },
    });
  // The key is known from now on, for half a second.
  const first = await ask();
  expect(first.status).toBe(200);
  await prisma().apiKey.updateMany({ where: { userId: id }, data: { revokedAt: new Date() } });
  await expectEnded(readEventStream(first));
  const late = await ask();
  // On a slow machine it is rejected instead.
  if (late.status === 200) await expectEnded(readEventStream(late));
  else expect(late.status).toBe(401);
});

it('a mutation whose account is deleted while it runs is rejected as unauthenticated', async () => {
  const { id, key } = await app.account();
  const create = (headers: Record<string, string> = {}) =>
    app.gql('mutation { createPost(title: "Late", body: "b") { id } }', { key, headers });
  expect((await create()).status).toBe(200);
  await prisma().post.deleteMany({ where: { authorId: id } });
  await prisma().user.delete({ where: { id } });
  for (const headers of [{}, { 'idempotency-key': 'k' }]) {
    const { status, errors } = await create(headers);
    expect({ status, code: errors?.[0]?.extensions.code }).toEqual({ status: 401, code: 'UNAUTHENTICATED' });
  }
});
