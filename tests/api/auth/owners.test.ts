import { expect, it } from 'vitest';
import type { Database } from '../../../src/database/database.ts';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeClient,
  basic,
  exchangeCode,
  oauthClient,
  postForm,
} from '../../support/credentials/oauth.ts';
import { freshCookie, person } from '../../support/credentials/session.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp();
const ADDRESS = expect.stringMatching(/^address:/);

/** The same database, and whose slot each statement of the pool and each unit of work takes. */
function attributed(database: Database) {
  const owners = new Map<string, Set<string | undefined>>();
  const note = (name: string, owner: string | undefined) => {
    const label = name.replace(/_[\w-]{22}$/, '');
    owners.set(label, (owners.get(label) ?? new Set()).add(owner));
  };
  const noted: Database = {
    ...database,
    query(statement, values) {
      note(statement.name, undefined);
      return database.query(statement, values);
    },
    cancellable(cancellation) {
      const inner = database.cancellable(cancellation);
      return {
        query(statement, values) {
          note(statement.name, cancellation.owner);
          return inner.query(statement, values);
        },
      };
    },
    owned(owner) {
      const inner = database.owned(owner);
      return {
        query(statement, values) {
          note(statement.name, owner);
          return inner.query(statement, values);
        },
      };
    },
    unitOfWork(options, cancellation) {
      note('unit of work', cancellation?.owner);
      return database.unitOfWork(options, cancellation);
    },
  };
  return { noted, ownersOf: (name: string) => [...(owners.get(name) ?? [])] };
}

it('who logs in and out waits for the database as an address, then as the account', async () => {
  const { id, email } = await person(app);
  const { noted, ownersOf } = attributed(app.database);
  const instance = secondInstance(app, { database: noted });
  const cookie = await freshCookie(instance, email);
  expect((await instance.fetch('/login', { headers: { cookie } })).status).toBe(200);
  expect((await instance.fetch('/logout', { method: 'POST', headers: { cookie } })).status).toBe(204);
  // A secret that nobody has shown here before could be made up.
  expect(ownersOf('sessions_by_hash')).toEqual(['unknown credentials', id]);
  expect(ownersOf('account_by_email')).toEqual([ADDRESS]);
  expect(ownersOf('session_owner')).toEqual([id]);
  expect(ownersOf('unit of work')).toEqual([id]);
});

it('OAuth’s work for a request is its address’s, or its account’s once that has signed in', async () => {
  const user = await person(app);
  const client = await oauthClient(app, { owner: await app.account() });
  const { noted, ownersOf } = attributed(app.database);
  const instance = secondInstance(app, { database: noted });
  const { body } = await exchangeCode(instance, client, await authorizeClient(instance, client, user));
  const renewed = await askToken(instance, client, {
    grant_type: 'refresh_token',
    refresh_token: body.refresh_token,
  });
  for (const token of [renewed.body.access_token, renewed.body.refresh_token])
    expect((await postForm(instance, '/oauth/revoke', { token }, basic(client))).status).toBe(200);
  const ofCalls = ['oauth_record_insert_from', 'oauth_record_consume', 'oauth_family_end', 'token_revoke'];
  for (const name of ofCalls) expect(ownersOf(name), name).toEqual([ADDRESS]);
  for (const name of ['oauth_grant', 'oauth_authorization_upsert'])
    expect(ownersOf(name), name).toEqual([user.id]);
  // Of the log-in and of the consent.
  expect(ownersOf('unit of work')).toEqual([user.id]);
  for (const name of ['oauth_client', 'oauth_record', 'oauth_account', 'oauth_record_upsert'])
    expect(new Set(ownersOf(name)), name).toEqual(new Set([ADDRESS, user.id]));
});
