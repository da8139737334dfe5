import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer as createHttpServer, type IncomingHttpHeaders } from 'node:http';
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readShippedConfiguration } from '../../scripts/cluster/nginx.ts';
import { freePort } from '../../scripts/cluster/processes.ts';
import { nginxOf } from '../support/docs/web-page.ts';
import { type Nginx, startNginx } from '../support/nginx.ts';
import { temporaryFolder } from '../support/processes/process.ts';

const SECRETS = ['cga_aKeyOfSomebody', 'cgt_aTokenOfSomebody', 'aSignInOfSomebody'];
const [KEY, TOKEN, SIGN_IN] = SECRETS;
/** A request of each kind that has a secret in its address, and in what came before it. */
const ADDRESSES = [
  `/graphql?api_key=${KEY}&query={posts{id}}`,
  `/graphql?stream_token=${TOKEN}`,
  `/oauth/interaction/${SIGN_IN}/login?api_key=${KEY}`,
  `/oauth/authorize/${SIGN_IN}`,
];

/** Something that takes connections where an instance would, and does this with each that has sent something. */
async function pretend(serve: (socket: Socket) => void): Promise<{ address: string; asked: () => number }> {
  let asked = 0;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      asked += 1;
      serve(socket);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

const hold = (socket: Socket) => onTestFinished(() => void socket.destroy());

interface Asking {
  readonly session: ClientHttp2Session;
  /** Resolves to the status. */
  ask(path: string, headers?: OutgoingHttpHeaders, body?: Buffer): Promise<number | undefined>;
}

/** A browser's connection. */
function client({ certificate }: Nginx, port: number): Asking {
  const session = connectHttp2(`https://localhost:${port}`, { ca: certificate, host: '127.0.0.1' });
  session.on('error', () => session.destroy());
  onTestFinished(() => session.destroy());
  return {
    session,
    async ask(path, headers = {}, body) {
      const referer = `https://localhost:${port}${ADDRESSES[0]}`;
      const stream = session.request(
        { ':path': path, referer, ...headers },
        { endStream: body === undefined },
      );
      stream.on('error', () => stream.destroy());
      onTestFinished(() => void stream.destroy());
      if (body !== undefined) stream.end(body);
      const [result] = (await once(stream, 'response')) as [Record<string, number | undefined>];
      stream.close(constants.NGHTTP2_NO_ERROR);
      return result[':status'];
    },
  };
}

/** The shipped files, changed so far that what is to go wrong goes wrong soon. */
async function shipped(instances: readonly string[], change = (configuration: string) => configuration) {
  const port = await freePort();
  const nginx = await startNginx(change(readShippedConfiguration({ port, instances })), {
    folder: await temporaryFolder(),
    port,
  });
  return { nginx, port, ...client(nginx, port) };
}

/** Waits until the log tells of it, and looks for the secrets in all that nginx has written. */
async function expectLogged(nginx: Nginx, line: RegExp): Promise<void> {
  await expect.poll(() => nginx.logs()).toMatch(line);
  const logs = await nginx.logs();
  for (const secret of SECRETS) expect(logs).not.toContain(secret);
  expect(logs).not.toContain('query=');
}

describe('the logs of deploy/nginx have no query and no id of a sign-in', () => {
  const reset = (socket: Socket) => socket.resetAndDestroy();
  const invalid = (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nname\0: 1\r\n\r\n');

  it.each([
    ['resets connections', reset, '', 502],
    ['sends an invalid header', invalid, '', 502],
    ['does not answer', hold, 'proxy_read_timeout 1s;', 504],
  ] as const)('if an instance %s', async (_what, serve, setting, status) => {
    const { address } = await pretend(serve);
    const { nginx, ask } = await shipped([address], (text) =>
      text.replace('proxy_http_version', `${setting} proxy_http_version`),
    );
    for (const path of ADDRESSES) expect(await ask(path)).toBeOneOf([status, 502]);
    await expectLogged(nginx, new RegExp(`"GET /graphql" ${status} .* upstream ${address}.* ${status}`));
  });

  it('if there is no instance', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    const { nginx, ask } = await shipped([address]);
    for (const path of ADDRESSES) expect(await ask(path)).toBe(502);
    const keyed = { ':method': 'POST', 'idempotency-key': 'a' };
    expect(await ask(ADDRESSES[0] ?? '', keyed, Buffer.from('{}'))).toBe(502);
    await expectLogged(nginx, /"POST \/graphql" 502 /);
    expect(await nginx.logs()).toContain('"GET /oauth/interaction/:uid/login" 502 ');
    expect(await nginx.logs()).toContain('"GET /oauth/authorize/:uid" 502 ');
  });

  it('if an instance cannot be connected for another reason', async () => {
    const { nginx, ask } = await shipped(['unix:/nowhere']);
    expect(await ask(ADDRESSES[0] ?? '')).toBe(502);
    await expectLogged(nginx, /"GET \/graphql" 502 .* upstream unix:\/nowhere/);
  });

  it('if an address has too many connections', async () => {
    const instance = await pretend(hold);
    const { nginx, ask } = await shipped([instance.address], (text) =>
      text.replace('limit_conn addresses 2000', 'limit_conn addresses 1'),
    );
    void ask(ADDRESSES[1] ?? '').catch(() => undefined);
    await expect.poll(instance.asked).toBe(1);
    expect(await ask(ADDRESSES[0] ?? '')).toBe(503);
    await expectLogged(nginx, /"GET \/graphql" 503 .* connections REJECTED/);
  });

  it.each([
    ['file descriptors', 'worker_rlimit_nofile 32768', 'worker_rlimit_nofile 24', 500],
    ['connections', 'worker_connections 16384', 'worker_connections 16', 500],
  ])('if a worker runs out of %s', async (what, setting, changed, status) => {
    const instance = await pretend(hold);
    const { nginx, port, ask } = await shipped([instance.address], (text) =>
      text.replace(setting, changed).replace('worker_processes auto', 'worker_processes 1'),
    );
    // One connection of a browser, with one to the instance for each of its requests.
    const statuses: (number | undefined)[] = [];
    for (let sent = 0; statuses.length === 0; sent += 1) {
      const before = instance.asked();
      void ask(ADDRESSES[sent % 2] ?? '').then(
        (found) => statuses.push(found),
        () => undefined,
      );
      await expect.poll(() => statuses.length > 0 || instance.asked() > before).toBe(true);
    }
    expect(statuses).toEqual([status]);
    await expectLogged(nginx, /"GET \/graphql" 500 /);
    if (what !== 'file descriptors') return;
    // What is of no request is still told.
    const late = connect(port, '127.0.0.1');
    onTestFinished(() => void late.destroy());
    await expectLogged(nginx, /accept4\(\) failed/);
  });

  it('if a request cannot be buffered', async () => {
    const { address } = await pretend(hold);
    const { nginx, ask } = await shipped([address]);
    await rm(join(nginx.home, 'client_body'), { recursive: true });
    expect(await ask(ADDRESSES[0] ?? '', { ':method': 'POST' }, Buffer.alloc(200_000, ' '))).toBe(500);
    await expectLogged(nginx, /"POST \/graphql" 500 /);
  });
});

/** Something that answers where an instance would, and keeps the fields that it was sent. */
async function keeper(): Promise<{ address: string; fields: IncomingHttpHeaders[] }> {
  const fields: IncomingHttpHeaders[] = [];
  const instance = createHttpServer((request, response) => {
    fields.push(request.headers);
    response.end();
  });
  await once(instance.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void instance.close());
  return { address: `127.0.0.1:${(instance.address() as AddressInfo).port}`, fields };
}

it('no client says to an instance behind deploy/nginx which of its requests are traced', async () => {
  const { address, fields } = await keeper();
  const { ask } = await shipped([address]);
  const traced = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'a=b' };
  for (const path of ['/graphql', '/login', '/'])
    for (const further of [{}, { 'idempotency-key': 'a key' }])
      expect(await ask(path, { ...traced, ...further })).toBe(200);
  expect(fields).toHaveLength(6);
  for (const sent of fields) expect([sent.traceparent, sent.tracestate]).toEqual([undefined, undefined]);
});

describe('a request has one id in the log of deploy/nginx and at the instance', () => {
  it.each([
    ['of its own, which the client sent', 'an id of 17 c.', (id: string) => id === 'an id of 17 c.'],
    ['that nginx makes where the client sent none', undefined, (id: string) => /^[0-9a-f]{32}$/.test(id)],
    ['in place of one that is too long', 'x'.repeat(129), (id: string) => /^[0-9a-f]{32}$/.test(id)],
  ])('%s', async (_what, sent, isRight) => {
    const { address, fields } = await keeper();
    const { nginx, ask } = await shipped([address]);
    expect(await ask('/graphql', sent === undefined ? {} : { 'x-request-id': sent })).toBe(200);
    const passed = fields.map((one) => one['x-request-id']);
    expect(passed).toEqual([expect.toSatisfy(isRight)]);
    await expect.poll(() => nginx.logs()).toContain(` request ${passed[0]}\n`);
  });
});

describe('the logs of the nginx of docs/get-started/tutorial-web-page.md have no query', () => {
  it('if the service is away', async () => {
    const [port, api, folder] = [await freePort(), await freePort(), await temporaryFolder()];
    const nginx = await startNginx(nginxOf({ root: folder, port, api }), { folder, port });
    const { ask } = client(nginx, port);
    expect(await ask(ADDRESSES[0] ?? '')).toBe(502);
    expect(await ask(`/missing?api_key=${KEY}`)).toBeGreaterThanOrEqual(400);
    await expectLogged(nginx, new RegExp(`"GET /graphql" 502 upstream 127.0.0.1:${api} 502`));
  });
});
