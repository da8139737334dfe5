import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { run, start } from '../../../scripts/cluster/processes.ts';
import { findNginx } from '../../../scripts/cluster/programs.ts';
import { until } from '../processes/process.ts';

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** Makes a certificate for localhost in a folder, and returns the paths of it and of its key. */
async function makeCertificate(folder: string) {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
  const kind = [
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    '1',
  ];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  await run({
    file: 'openssl',
    args: [...kind, ...subject, '-keyout', key, '-out', certificate],
    cwd: folder,
  });
  return { certificate, key };
}

/**
 * Starts nginx with a `server` block of the docs, of which only ports, names and paths are replaced, until the end of
 * the test. `root` is the folder that the block serves.
 */
export async function startNginx(
  block: string,
  { folder, root, port, api }: { folder: string; root: string; port: number; api: number },
): Promise<void> {
  const home = join(folder, 'nginx');
  await mkdir(home);
  // nginx serves as a user of its own.
  await chmod(folder, 0o755);
  const { certificate, key } = await makeCertificate(home);
  const server = block
    .replace('listen 443', `listen 127.0.0.1:${port}`)
    .replace('example.com;', 'localhost;')
    .replace('/etc/ssl/example.com.pem', certificate)
    .replace('/etc/ssl/example.com.key', key)
    .replace('/var/www/my-page/dist', root)
    .replace('127.0.0.1:4000', `127.0.0.1:${api}`);
  const configuration = join(home, 'nginx.conf');
  await writeFile(
    configuration,
    `daemon off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events {}
http {
  include /etc/nginx/mime.types;
  access_log off;
  ${TEMPORARY.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  ${server}
}
`,
  );
  const args = ['-e', join(home, 'error.log'), '-p', home, '-c', configuration];
  const nginx = start({ file: findNginx(), args, cwd: home });
  onTestFinished(async () => void (await nginx.stop()));
  await until('nginx', async () => {
    nginx.assertRunning();
    const socket = connect(port, '127.0.0.1');
    const connected = once(socket, 'connect').then(
      () => true,
      () => false,
    );
    return connected.finally(() => socket.destroy());
  });
}
