import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../scripts/cluster/programs.ts';
import { startProgram } from '../support/programs.ts';
import { describeProxy, PRODUCTION } from '../support/proxy-row.ts';
import { worksWith } from '../support/results.ts';
import { programVersion } from '../support/versions.ts';

const PROGRAM = findProgram('haproxy', 'haproxy');

describeProxy({
  name: 'HAProxy',
  version: programVersion(PROGRAM, '-v'),
  checks: {
    requests: worksWith(
      '`option forwardfor`, `http-request set-header X-Forwarded-Proto`, and `TRUST_PROXY`',
    ),
    streams: worksWith('`timeout server` and `timeout client` above 15 s, and `option redispatch 1`'),
    sessions: worksWith('`PUBLIC_URL`'),
  },
  settings: PRODUCTION,
  balances: true,
  start: (place) =>
    startProgram(PROGRAM, place, async (port) => {
      const servers = place.instances.map(
        ({ origin }, index) => `server instance-${index + 1} ${new URL(origin).host}`,
      );
      const file = join(place.folder, 'haproxy.cfg');
      await writeFile(
        file,
        `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  option forwardfor
  option redispatch 1
  compression algo gzip
frontend public
  bind 127.0.0.1:${port}
  http-request set-header X-Forwarded-Proto https
  default_backend service
backend service
  ${servers.join('\n  ')}
`,
      );
      return ['-f', file];
    }),
});
