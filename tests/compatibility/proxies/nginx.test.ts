import { startNginx } from '../../../scripts/cluster/nginx.ts';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { findNginx } from '../../../scripts/cluster/programs.ts';
import { describeProxy, PRODUCTION } from '../support/proxy-row.ts';
import { worksWith } from '../support/results.ts';
import { programVersion } from '../support/versions.ts';

/** Only ends a start that hangs. */
const LIMIT_MS = 120_000;

describeProxy({
  name: 'nginx, two workers',
  version: programVersion(findNginx(), '-v'),
  checks: {
    requests: worksWith(
      '`proxy_set_header` for `X-Forwarded-For` and `X-Forwarded-Proto`, and `TRUST_PROXY`',
    ),
    streams: worksWith('`max_fails=0` for each server, and no `text/event-stream` in `gzip_types`'),
    sessions: worksWith('`PUBLIC_URL`'),
  },
  settings: PRODUCTION,
  balances: true,
  async start({ instances, folder, keep }) {
    const port = await freePort();
    const servers = instances.map(({ origin }) => `server ${new URL(origin).host} max_fails=0;`);
    const configuration = `
      worker_processes 2;
      pid /run/nginx.pid;
      events {}
      http {
        upstream service { ${servers.join(' ')} }
        gzip on;
        gzip_types application/json;
        server {
          listen 127.0.0.1:${port};
          location / {
            proxy_pass http://service;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto https;
          }
        }
      }`;
    const { service } = await startNginx(configuration, {
      folder,
      port,
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    keep(() => service.stop());
    return `http://127.0.0.1:${port}`;
  },
});
