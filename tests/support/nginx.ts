import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { run, start } from '../../scripts/cluster/processes.ts';
import { findNginx } from '../../scripts/cluster/programs.ts';
import { until } from './processes/process.ts';

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
const KEY_KIND = '-x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1'.split(' ');
const SUBJECT = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];

export interface Nginx {
  /** Has the certificate, the temporary files and the logs. */
  readonly home: string;
  /** The certificate to trust, in PEM. */
  readonly certificate: string;
  /** What it has written to all of its logs. */
  logs(): Promise<string>;
}

/** Whatever nginx has under `/etc/nginx`, `/var/log/nginx`, `/var/cache` and `/run`, in a folder of its own. */
const inFolder = (configuration: string, home: string) =>
  configuration
    .replaceAll(/\/etc\/nginx\/(?=\w+\.pem)/g, `${home}/`)
    .replaceAll('/var/log/nginx/', `${home}/`)
    .replaceAll('/var/cache/', `${home}/`)
    .replace('/run/nginx.pid', `${home}/nginx.pid`)
    .replace(
      'http {',
      `http {\n  ${TEMPORARY.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}`,
    );

/**
 * Starts nginx with a main file that listens on the port, in a new folder within `folder`, until the end of the test. Of
 * the file, paths and the user are replaced.
 */
export async function startNginx(
  configuration: string,
  { folder, port }: { readonly folder: string; readonly port: number },
): Promise<Nginx> {
  const home = join(folder, 'nginx');
  await mkdir(home);
  // nginx serves as a user of its own.
  await chmod(folder, 0o755);
  const made = ['-keyout', 'key.pem', '-out', 'certificate.pem'];
  await run({ file: 'openssl', args: ['req', ...KEY_KIND, ...SUBJECT, ...made], cwd: home });
  const main = join(home, 'nginx.conf');
  await writeFile(main, `daemon off;\n${inFolder(configuration.replace('user nginx;', ''), home)}`);
  const args = ['-e', join(home, 'start.log'), '-p', home, '-c', main];
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
  return {
    home,
    certificate: await readFile(join(home, 'certificate.pem'), 'utf8'),
    async logs() {
      const names = (await readdir(home)).filter((name) => name.endsWith('.log'));
      const texts = await Promise.all(names.map((name) => readFile(join(home, name), 'utf8')));
      return texts.join('\n');
    },
  };
}
