import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, start, until } from '../../scripts/cluster/processes.ts';
import { findNginx } from '../../scripts/cluster/programs.ts';

const SHIPPED = resolve(import.meta.dirname, '../../deploy/nginx');
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
const START_LIMIT_MS = 15_000;

export const HOST = 'bench.example';

/** As it says it itself, such as `nginx/1.22.1`. */
export const nginxVersion = (): string =>
  /nginx\/\S+/.exec(spawnSync(findNginx(), ['-v']).stderr.toString())?.[0] ?? 'nginx, unknown';

interface Places {
  readonly home: string;
  readonly port: number;
  readonly instances: readonly number[];
}

/** The files of `deploy/nginx` as one, without TLS, which the load does not speak, and in a folder of its own. */
async function shippedConfiguration({ home, port, instances }: Places): Promise<string> {
  const read = (name: string) => readFile(join(SHIPPED, name), 'utf8');
  let index = 0;
  const servers = (await read('content-graph.conf'))
    .replaceAll(/server api-\d:4000/g, () => `server 127.0.0.1:${instances[index++ % instances.length]}`)
    .replaceAll('listen 443 ssl http2', `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_.*$/gm, '')
    .replaceAll('X-Forwarded-Proto $scheme', 'X-Forwarded-Proto https')
    .replaceAll('api.example.com', HOST);
  const temporary = TEMPORARY.map((name) => `${name}_temp_path ${home}/${name};`).join('\n');
  return (await read('nginx.conf'))
    .replace('user nginx;', 'daemon off;')
    .replace('http {', `http {\n${temporary}`)
    .replace('include /etc/nginx/conf.d/*.conf;', servers)
    .replaceAll('/var/log/nginx/', `${home}/`)
    .replaceAll('/var/cache/', `${home}/`)
    .replace('/run/nginx.pid', `${home}/nginx.pid`);
}

/** Starts nginx as it is shipped before instances. Its port; it stops when `cleanup` is disposed of. */
export async function startNginx(
  cleanup: AsyncDisposableStack,
  instances: readonly number[],
): Promise<number> {
  const home = await mkdtemp(join(tmpdir(), 'content-graph-bench-'));
  cleanup.defer(() => rm(home, { recursive: true }));
  // nginx serves as a user of its own.
  await chmod(home, 0o755);
  const port = await freePort();
  const main = join(home, 'nginx.conf');
  await writeFile(main, await shippedConfiguration({ home, port, instances }));
  const args = ['-e', join(home, 'start.log'), '-p', home, '-c', main];
  const service = start({ file: findNginx(), args, cwd: home });
  cleanup.defer(async () => void (await service.stop()));
  const listens = async () => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect').finally(() => socket.destroy());
    return true;
  };
  await until('nginx', listens, { service, signal: AbortSignal.timeout(START_LIMIT_MS) });
  return port;
}
