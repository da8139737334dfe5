import { expect, it } from 'vitest';
import { adminCommand } from '../support/admin-command.ts';
import { useApp } from '../support/app.ts';
import { gqlAs, PASSWORD, person, visitor } from '../support/credentials/session.ts';
import { besidePool } from '../support/database/postgres.ts';

const app = useApp();
const RESET = `mutation ($email: String!) {
  createResetLink(email: $email, currentPassword: "${PASSWORD}") { url }
}`;
const INVITE = `mutation ($email: String!) {
  inviteUser(email: $email, name: "Late", currentPassword: "${PASSWORD}") { url }
}`;

it.each([
  ['is an admin no more', `UPDATE users SET role = 'member' WHERE id = $1`, 'FORBIDDEN'],
  ['is disabled', 'UPDATE users SET disabled_at = now() WHERE id = $1', 'FORBIDDEN'],
  ['has no session any more', 'DELETE FROM sessions WHERE user_id = $1', 'UNAUTHENTICATED'],
])('Who %s when the mutation gets to it makes no link', async (_, change, code) => {
  for (const mutation of [RESET, INVITE]) {
    const { id, cookie } = await visitor(app, { role: 'admin' });
    const email = mutation === RESET ? (await person(app)).email : `late-${id}@example.com`;
    const holder = await besidePool(app);
    const watcher = await besidePool(app);
    await holder.query('BEGIN');
    await holder.query('SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE', [id]);
    const response = gqlAs(app, cookie, mutation, { variables: { email } });
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query ~ 'role = ''admin'''`;
    await expect.poll(async () => (await watcher.query(waiting)).rows.length).toBe(1);
    await holder.query(change, [id]);
    await holder.query('COMMIT');
    const { errors = [] } = await response;
    expect(errors.map(({ extensions }) => extensions.code)).toEqual([code]);
    expect(await app.prisma.accountLink.count({ where: { emailKey: email } })).toBe(0);
  }
});

it('Admins who make links for the same people at once all get them, and the last one is good', async () => {
  const admins = await Promise.all(Array.from({ length: 4 }, () => visitor(app, { role: 'admin' })));
  const people = await Promise.all(Array.from({ length: 3 }, () => person(app)));
  const both = `mutation ($email: String!, $new: String!) {
    inviteUser(email: $new, name: "New", currentPassword: "${PASSWORD}") { url }
    createResetLink(email: $email, currentPassword: "${PASSWORD}") { url }
  }`;
  const responses = await Promise.all(
    admins.flatMap(({ cookie, id }) =>
      people.map(({ email }, number) =>
        gqlAs(app, cookie, both, { variables: { email, new: `new-${id}-${number}@example.com` } }),
      ),
    ),
  );
  expect(responses.flatMap(({ errors = [] }) => errors)).toEqual([]);
  const good = await Promise.all(
    responses.map(async ({ data }) => {
      const { pathname, search } = new URL(data.createResetLink.url);
      return (await app.fetch(pathname + search)).status;
    }),
  );
  expect(good.filter((status) => status === 200)).toHaveLength(people.length);
  expect((await adminCommand(app, ['user', 'list'])).json.length).toBeGreaterThan(responses.length);
});
