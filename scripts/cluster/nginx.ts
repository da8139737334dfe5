import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, start, until } from './processes.ts';
import { findOpenssl, type Place, type Running } from './programs.ts';

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
const KEY_KIND = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1'.split(' ');
const SUBJECT = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];

export interface Proxy extends Running {
  /** The certificate to trust, in PEM. */
  readonly certificate: string;
}

const CONFIGURATION = new URL('../../deploy/nginx/content-graph.conf', import.meta.url);

/** The configuration of `deploy/nginx`, with the places of this cluster. */
async function serverBlocks(upstreams: readonly number[], port: number): Promise<string> {
  let index = 0;
  return (await readFile(CONFIGURATION, 'utf8'))
    .replaceAll(/server api-\d:4000/g, () => `server 127.0.0.1:${upstreams[index++]}`)
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replace('api.example.com', 'localhost')
    .replaceAll('/etc/nginx/', '')
    .replaceAll('/var/cache/', '')
    .replace(/access_log .*;/g, 'access_log off;');
}

/** Starts nginx with HTTP/2 and a certificate of its own in front of the instances on these ports. */
export async function startNginx(
  file: string,
  upstreams: readonly number[],
  { folder, port, signal }: Place,
): Promise<Proxy> {
  const home = join(folder, 'nginx');
  await mkdir(home);
  const made = ['-keyout', 'key.pem', '-out', 'certificate.pem'];
  await run({ file: findOpenssl(), args: ['req', ...KEY_KIND, ...SUBJECT, ...made], cwd: home });
  const configuration = join(home, 'nginx.conf');
  await writeFile(
    configuration,
    `daemon off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  ${await serverBlocks(upstreams, port)}
}
`,
  );
  const args = ['-e', join(home, 'error.log'), '-p', home, '-c', configuration];
  const service = start({ file, args, cwd: home });
  await until('nginx', async () => (await readFile(join(home, 'nginx.pid'), 'utf8')) !== '', {
    service,
    signal,
  });
  const certificate = await readFile(join(home, 'certificate.pem'), 'utf8');
  return { service, url: `https://localhost:${port}`, certificate };
}
