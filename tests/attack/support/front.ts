import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, type Service, start } from '../../../scripts/cluster/processes.ts';
import { findNginx } from '../../../scripts/cluster/programs.ts';

/** Names that resolve nowhere but in the browsers of these tests, to this machine. Whoever owns two of a line is one owner. */
export const NAMES = {
  service: 'api.corp.test',
  /** Under the service's registrable domain. */
  sibling: 'evil.corp.test',
  application: 'reader.test',
  evil: 'evil.test',
} as const;

export interface Certificate {
  /** PEM. It signs itself: who trusts it trusts nobody else. */
  readonly certificate: string;
  readonly key: string;
}

export async function makeCertificate(folder: string): Promise<Certificate> {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const names = Object.values(NAMES).map((name) => `DNS:${name}`);
  await run({
    file: 'openssl',
    args: [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'],
      ...['-keyout', key, '-out', certificate, '-subj', '/CN=127.0.0.1'],
      ...['-addext', `subjectAltName=IP:127.0.0.1,${names}`],
    ],
    cwd: folder,
  });
  return { certificate: await readFile(certificate, 'utf8'), key: await readFile(key, 'utf8') };
}

const proxied = (port: number) => `location / {
      proxy_pass http://127.0.0.1:${port};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $scheme;
    }`;

/** Where nginx listens, and where the instances behind it do. */
export interface Ports {
  readonly app: number;
  readonly forgetful: number;
  readonly tls: number;
  readonly plain: number;
  readonly forgetfulTls: number;
  readonly hasty: number;
  readonly hastyTls: number;
}

/** A line for each request that has been answered. */
const LOG_FORMAT = [
  ...['"method":"$request_method"', '"uri":"$request_uri"', '"status":$status', '"host":"$http_host"'],
  ...['"origin":"$http_origin"', '"site":"$http_sec_fetch_site"', '"dest":"$http_sec_fetch_dest"'],
  ...['"purpose":"$http_sec_purpose$http_x_moz"', '"cookie":"$http_cookie"'],
].join(',');

function configuration(home: string, ports: Ports): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const certificate = `ssl_certificate ${home}/certificate.pem; ssl_certificate_key ${home}/key.pem;`;
  return `
daemon off;
worker_processes 1;
pid ${home}/nginx.pid;
error_log ${home}/error.log;
events {}
http {
  log_format answered escape=json '{${LOG_FORMAT}}';
  access_log ${home}/access.log answered;
  ${temporary.map((name) => `${name}_temp_path ${home}/${name};`).join('\n  ')}
  server { listen 127.0.0.1:${ports.tls} ssl; ${certificate} ${proxied(ports.app)} }
  server { listen 127.0.0.1:${ports.plain}; ${proxied(ports.app)} }
  server { listen 127.0.0.1:${ports.forgetfulTls} ssl; ${certificate} ${proxied(ports.forgetful)} }
  # A request that never ends is given up while a test can wait for it.
  server {
    listen 127.0.0.1:${ports.hastyTls} ssl; ${certificate}
    client_header_timeout 3s; client_body_timeout 3s; keepalive_timeout 3s;
    ${proxied(ports.hasty)}
  }
}
`;
}

/** nginx before the instances, with the certificate of the folder. */
export async function startNginx(folder: string, ports: Ports): Promise<Service> {
  // nginx' own user must reach what is its in it.
  await chmod(folder, 0o755);
  const file = join(folder, 'nginx.conf');
  await writeFile(file, configuration(folder, ports));
  const args = ['-e', join(folder, 'error.log'), '-p', folder, '-c', file];
  return start({ file: findNginx(), args, cwd: folder });
}
