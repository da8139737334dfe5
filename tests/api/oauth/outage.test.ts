import { describe, expect, it } from 'vitest';
import { DatabaseError } from '../../../src/database/errors.ts';
import { useApp } from '../../support/app.ts';
import {
  askToken,
  authorizeUrl,
  Browser,
  basic,
  oauthClient,
  PKCE,
  postForm,
  statusWith,
} from '../../support/credentials/oauth.ts';
import { watchedDatabase } from '../../support/database/watched.ts';
import { secondInstance } from '../../support/second-instance.ts';

const app = useApp();
const GRANT = { grant_type: 'client_credentials' };

/** An instance whose statements, or those whose name begins so, fail from the moment that it is told to. */
function failing(error: Error, name = '') {
  let broken = false;
  const instance = secondInstance(app, {
    database: watchedDatabase(app.database, (statement) => {
      if (broken && statement.name.startsWith(name)) throw error;
    }),
  });
  return {
    ...instance,
    fail: () => {
      broken = true;
    },
  };
}

describe('while the database is down', () => {
  it.each([
    [
      'it cannot be reached',
      new DatabaseError('unavailable', new Error('gone')),
      503,
      'temporarily_unavailable',
    ],
    ['it is too slow', new DatabaseError('timeout', new Error('slow')), 504, 'temporarily_unavailable'],
    ['something is wrong inside', new Error('a secret of the inside'), 500, 'server_error'],
  ])('since %s, OAuth says so and tells nothing', async (_why, error, status, code) => {
    const client = await oauthClient(app, {
      owner: await app.account(),
      grants: ['authorization_code', 'client_credentials'],
    });
    const instance = failing(error);
    const { body } = await askToken(instance, client, GRANT);
    const url = authorizeUrl(client, { challenge: PKCE().challenge });
    const browser = new Browser(instance);
    const page = await browser.open(url);
    const form = /action="([^"]+)\/login"/.exec(await page.response.text())?.[1] ?? '';
    instance.fail();
    const responses = [
      await askToken(instance, client, GRANT),
      await postForm(instance, '/oauth/revoke', { token: body.access_token }, basic(client)),
      await postForm(instance, '/oauth/introspect', { token: body.access_token }, basic(client)),
    ];
    for (const result of responses) {
      expect([result.status, result.body.error]).toEqual([status, code]);
      expect(JSON.stringify(result.body)).not.toMatch(/inside|gone|slow|oops/);
      expect(result.headers.get('content-type')).toContain('json');
    }
    for (const path of [url, form]) {
      const response = await browser.fetch(path);
      expect(response.status).toBe(status);
      expect(await response.text()).not.toMatch(/inside|gone|slow|oops/);
    }
    expect(await statusWith(instance, body.access_token)).toBe(status);
  });

  it.each([
    ['cannot be written to', new DatabaseError('unavailable', new Error('gone')), 503],
    ['fails in a way of its own', new Error('a secret of the inside'), 500],
  ])('which %s, an authorization ends on a page, and the log has it in full', async (_how, error, status) => {
    const client = await oauthClient(app, { owner: await app.account() });
    const instance = failing(error, 'oauth_record_insert_from');
    instance.fail();
    const { challenge } = PKCE();
    for (const response_mode of ['query', 'form_post']) {
      const logged = app.logged.length;
      const response = await instance.fetch(authorizeUrl(client, { challenge, extra: { response_mode } }));
      expect([response.status, response.headers.get('location')]).toEqual([status, null]);
      expect(await response.text()).not.toMatch(/inside|gone|oops/);
      expect(app.logged.slice(logged).join('')).toContain(error.message);
    }
  });
});
