import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../../scripts/cluster/programs.ts';
import { startProgram } from '../support/programs.ts';
import { describeProxy, PRODUCTION } from '../support/proxy-row.ts';
import { worksWith } from '../support/results.ts';
import { programVersion } from '../support/versions.ts';

const PROGRAM = findProgram('caddy', 'caddy');

describeProxy({
  name: 'Caddy',
  version: programVersion(PROGRAM, 'version'),
  checks: {
    requests: worksWith('`TRUST_PROXY`'),
    streams: worksWith('`lb_try_duration`, to try another instance'),
    sessions: worksWith('`PUBLIC_URL`'),
  },
  settings: PRODUCTION,
  balances: true,
  start: (place) =>
    startProgram(PROGRAM, place, async (port) => {
      const file = join(place.folder, 'Caddyfile');
      await writeFile(
        file,
        `
{
  admin off
}
http://127.0.0.1:${port} {
  encode gzip
  reverse_proxy ${place.instances.map(({ origin }) => new URL(origin).host).join(' ')} {
    header_up X-Forwarded-Proto https
    lb_try_duration 10s
  }
}
`,
      );
      return ['run', '--config', file, '--adapter', 'caddyfile'];
    }),
});
