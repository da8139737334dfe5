import { describe, expect, it } from 'vitest';
import { useApp } from '../../support/app.ts';
import { visitor } from '../../support/credentials/session.ts';
import { graphqlPost } from '../../support/graphql.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const socket = useSocket(app);

async function ask(cookie: string) {
  const response = await socket.fetch('/graphql', graphqlPost('{ viewer { id } }', { headers: { cookie } }));
  const { data, errors } = (await response.json()) as {
    data?: { viewer: { id: string } };
    errors?: { message: string }[];
  };
  return {
    status: response.status,
    id: data?.viewer.id,
    message: errors?.[0]?.message,
    sets: response.headers.getSetCookie(),
  };
}

/** Names of cookies that a neighbouring host may set, and that a careless reader takes for the session's. */
const LOOK_ALIKES = [
  '\xa0session_id',
  '\x85session_id',
  'session_id\xa0',
  '\xc2\xa0session_id',
  'Session_ID',
];

describe('a cookie that looks like that of the session', () => {
  it.each(LOOK_ALIKES)('%j is none', async (name) => {
    const { cookie } = await visitor(app);
    const value = cookie.slice('session_id='.length);
    const { status, message, sets } = await ask(`${name}=${value}`);
    expect([status, sets]).toEqual([401, []]);
    expect(message).toMatch(/^Credentials are required/);
    const whoAmI = await socket.fetch('/login', { headers: { cookie: `${name}=${value}` } });
    expect(await whoAmI.json()).toEqual({ user: null });
  });

  it.each(LOOK_ALIKES)('%j makes the session’s own one of several', async (name) => {
    const [victim, attacker] = [await visitor(app), await visitor(app)];
    const planted = attacker.cookie.replace('session_id', name);
    for (const cookie of [`${planted}; ${victim.cookie}`, `${victim.cookie};${planted}`]) {
      const { status, message } = await ask(cookie);
      expect([status, message]).toEqual([401, expect.stringContaining('more than one session cookie')]);
    }
  });

  it.each(['xsession_id', 'session_id_', 'session-id', 'session_id2'])(
    '%j is another cookie, which changes nothing',
    async (name) => {
      const { id, cookie } = await visitor(app);
      expect(await ask(`${name}=1; ${cookie}`)).toMatchObject({ status: 200, id });
    },
  );

  it('may have space and tab around it, and nothing else', async () => {
    const { id, cookie } = await visitor(app);
    expect(await ask(`theme=dark;\t ${cookie.replace('=', ' =')} ;a=b`)).toMatchObject({ status: 200, id });
  });
});
