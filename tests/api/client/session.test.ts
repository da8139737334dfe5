import { describe, expect, it, onTestFinished } from 'vitest';
import {
  type ClientOptions,
  createClient,
  createForwardedOptions,
} from '../../../packages/client/src/index.ts';
import { useApp } from '../../support/app.ts';
import { cookieOf, person } from '../../support/credentials/session.ts';
import { until } from '../../support/processes/process.ts';
import { useSocket } from '../../support/socket.ts';

const app = useApp();
const socket = useSocket(app);
const VIEWER = '{ viewer { id } }';
const CREATE_POST = 'mutation { createPost(title: "A", body: "B") { id } }';

function open(options: Partial<ClientOptions> = {}) {
  const client = createClient({ url: `${socket.origin}/graphql`, ...options });
  onTestFinished(() => client.close());
  return client;
}

/** A `fetch` that holds the cookie, as a browser does. */
function createBrowserFetch() {
  let cookie = '';
  const send: typeof fetch = async (input, init) => {
    const headers = new Headers(init?.headers);
    if (init?.credentials === 'include' && cookie !== '') headers.set('cookie', cookie);
    headers.set('origin', socket.origin);
    const response = await fetch(input, { ...init, headers });
    if (response.headers.has('set-cookie')) cookie = cookieOf(response);
    return response;
  };
  return { send, getCookie: () => cookie };
}

describe('The session of a client', () => {
  it('begins with a login, ends with a logout, and continues streams that waited for it', async () => {
    const account = await person(app);
    const browser = createBrowserFetch();
    const client = open({ fetch: browser.send });
    expect(await client.session.getViewer()).toBeNull();
    await expect(client.session.signIn(account.email, 'wrong password')).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
      httpStatus: 401,
    });
    const stream = client.subscribe('subscription { changes { kind } }', {});
    const pending = stream.next();
    await until('the pause', () => stream.state.status === 'reconnecting');
    expect(stream.state).toMatchObject({ reason: 'unauthenticated' });
    const user = await client.session.signIn(account.email, account.password);
    expect(user).toMatchObject({ id: account.id, email: account.email });
    await until('the stream', () => stream.state.status === 'live');
    stream.close();
    await pending;
    expect(await client.session.getViewer()).toEqual(user);
    expect((await client.query<{ viewer: object }, object>(VIEWER, {})).data.viewer).toEqual({
      id: account.id,
    });
    await client.session.signOut();
    expect(await client.session.getViewer()).toBeNull();
  });
});

describe('A client that renders a page', () => {
  it('acts with the session of the visitor, and is rejected what the visitor is rejected', async () => {
    const account = await person(app);
    const browser = createBrowserFetch();
    await open({ fetch: browser.send }).session.signIn(account.email, account.password);
    const visit = (fields: Record<string, string>) =>
      open(
        createForwardedOptions(
          { headers: new Headers({ cookie: `theme=dark; ${browser.getCookie()}`, ...fields }) },
          { protocol: 'http' },
        ),
      );
    const own = visit({ origin: socket.origin });
    expect((await own.query<{ viewer: object }, object>(VIEWER, {})).data.viewer).toEqual({ id: account.id });
    await own.mutate(CREATE_POST, {});
    await expect(
      visit({ origin: 'https://elsewhere.example' }).mutate(CREATE_POST, {}),
    ).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    await expect(visit({ cookie: 'theme=dark' }).query(VIEWER, {})).rejects.toMatchObject({
      code: 'UNAUTHENTICATED',
    });
  });

  it('passes on no other cookie, and who asks', () => {
    const headers = new Headers({
      cookie: 'a=1; session_id=secret; b=2',
      'user-agent': 'Browser/1',
      'sec-fetch-site': 'cross-site',
      authorization: 'Bearer other',
    });
    expect(createForwardedOptions({ headers }, { clientAddress: '192.0.2.7' }).headers).toEqual({
      cookie: 'session_id=secret',
      'user-agent': 'Browser/1',
      'sec-fetch-site': 'cross-site',
      'x-forwarded-for': '192.0.2.7',
      'x-forwarded-proto': 'https',
    });
  });
});
