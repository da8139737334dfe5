import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readShippedConfiguration } from '../../scripts/cluster/nginx.ts';
import { freePort } from '../../scripts/cluster/processes.ts';
import { useApp } from '../support/app.ts';
import { visitor } from '../support/credentials/session.ts';
import { startNginx } from '../support/nginx.ts';
import { temporaryFolder } from '../support/processes/process.ts';
import {
  CORS_ORIGIN,
  FIELD_CASES,
  fieldValues,
  type LinesRequest,
  type LinesResponse,
  proxiedFields,
  requestWith,
} from '../support/request-fields.ts';
import { useSocket } from '../support/socket.ts';

const app = useApp({ settings: { CORS_ORIGINS: CORS_ORIGIN, TRUST_PROXY: '127.0.0.1' } });
const socket = useSocket(app);
const run = promisify(execFile);

/** Sends requests with curl, which sends each line as it is, over HTTP/2. */
function curl(origin: string, certificate: string) {
  return async ({ method, target, lines, body }: LinesRequest): Promise<LinesResponse> => {
    const { port } = new URL(origin);
    const { stdout } = await run('curl', [
      ...['--silent', '--include', '--http2', '--request', method, '--cacert', certificate],
      // Headers of curl itself would be further lines.
      ...['--resolve', `localhost:${port}:127.0.0.1`, '--header', 'User-Agent:', '--header', 'Accept:'],
      ...lines.flatMap(([name, value]) => ['--header', `${name}: ${value}`]),
      ...(method === 'POST' ? ['--data-raw', body ?? ''] : []),
      `${origin}${target}`,
    ]);
    const [top = '', ...rest] = stdout.split('\r\n\r\n');
    const [status = '', ...fields] = top.split('\r\n');
    expect(status).toMatch(/^HTTP\/2 /);
    const headers = fields.map((field) => {
      const at = field.indexOf(':');
      return [field.slice(0, at).toLowerCase(), field.slice(at + 1).trim()];
    });
    return {
      status: Number(status.split(' ')[1]),
      headers: Object.fromEntries(headers),
      body: rest.join('\r\n\r\n'),
    };
  };
}

it('Several lines of a request field mean the same through nginx with HTTP/2', async () => {
  const [folder, port] = [await temporaryFolder(), await freePort()];
  const { host } = new URL(socket.origin);
  const nginx = await startNginx(readShippedConfiguration({ port, instances: [host] }), { folder, port });
  const send = curl(`https://localhost:${port}`, `${nginx.home}/certificate.pem`);
  const values = await fieldValues(await visitor(app, {}), send);
  for (const name of proxiedFields()) {
    const response = await send(requestWith(name, values));
    // nginx itself rejects several lines of some fields.
    if (response.status === 400 && response.headers['x-request-id'] === undefined) continue;
    expect([name, response]).toMatchObject([name, FIELD_CASES[name].expected]);
  }
});
