import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { run, start, until } from './processes.ts';
import { findNginx, findOpenssl, type Place, type Running } from './programs.ts';

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
const KEY_KIND = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1'.split(' ');
const SUBJECT = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];

export interface NginxProcess extends Running {
  /** The folder of the certificate, the temporary files and the logs. */
  readonly home: string;
  /** The certificate to trust, in PEM. */
  readonly certificate: string;
}

export interface ProxyAddresses {
  readonly port: number;
  /** In nginx's notation for a server of an upstream. */
  readonly instances: readonly string[];
}

/** Reads the main file of `deploy/nginx` with the file that it includes. Only ports and names are replaced. */
export function readShippedConfiguration({ port, instances }: ProxyAddresses): string {
  const read = (name: string) => readFileSync(new URL(`../../deploy/nginx/${name}`, import.meta.url), 'utf8');
  const servers = read('content-graph.conf')
    .replace(/( *server )api-\d:4000(.*\n)( *server api-.*\n)*/, (_, before: string, after: string) =>
      instances.map((instance) => `${before}${instance}${after}`).join(''),
    )
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('api.example.com', 'localhost');
  return read('nginx.conf').replace('include /etc/nginx/conf.d/*.conf;', servers);
}

/** Moves everything that nginx has under `/etc/nginx`, `/var/log/nginx`, `/var/cache` and `/run` to one folder. */
const moveToFolder = (configuration: string, home: string) =>
  configuration
    .replace('user nginx;', '')
    .replaceAll(/\/etc\/nginx\/(?=\w+\.pem)/g, `${home}/`)
    .replaceAll('/var/log/nginx/', `${home}/`)
    .replaceAll('/var/cache/', `${home}/`)
    .replace('/run/nginx.pid', `${home}/nginx.pid`)
    .replace(
      'http {',
      `http {\n  ${TEMPORARY.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}`,
    );

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return once(socket, 'connect')
    .then(() => true)
    .finally(() => socket.destroy());
}

/** Starts nginx with a main file that listens on the port, in a new subfolder of `folder`, with a certificate for localhost. */
export async function startNginx(
  configuration: string,
  { folder, port, signal }: Place,
): Promise<NginxProcess> {
  const home = join(folder, 'nginx');
  await mkdir(home);
  // The workers of nginx run as another user.
  await chmod(folder, 0o755);
  const made = ['-keyout', 'key.pem', '-out', 'certificate.pem'];
  await run({ file: findOpenssl(), args: ['req', ...KEY_KIND, ...SUBJECT, ...made], cwd: home });
  const main = join(home, 'nginx.conf');
  await writeFile(main, `daemon off;\n${moveToFolder(configuration, home)}`);
  const args = ['-e', join(home, 'start.log'), '-p', home, '-c', main];
  const service = start({ file: findNginx(), args, cwd: home });
  try {
    await until('nginx', () => isListening(port), { service, signal });
  } catch (error) {
    await service.stop();
    throw error;
  }
  const certificate = await readFile(join(home, 'certificate.pem'), 'utf8');
  return { service, home, url: `https://localhost:${port}`, certificate };
}
