import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { findProgram } from '../../../scripts/cluster/programs.ts';
import { startProgram } from '../support/programs.ts';
import { describeProxy, PRODUCTION } from '../support/proxy-row.ts';
import { worksWith } from '../support/results.ts';
import { programVersion } from '../support/versions.ts';

const PROGRAM = findProgram('varnishd', 'varnish');

const row = describeProxy({
  name: 'Varnish',
  version: programVersion(PROGRAM, '-V'),
  checks: {
    requests: worksWith('`X-Forwarded-Proto` in `vcl_recv`, and `TRUST_PROXY`'),
    streams: worksWith('`return (retry)` in `vcl_backend_error`, to try another instance'),
    sessions: worksWith('`PUBLIC_URL`'),
  },
  settings: PRODUCTION,
  balances: true,
  start: (place) =>
    startProgram(PROGRAM, place, async (port) => {
      const hosts = place.instances.map(({ origin }) => new URL(origin));
      const file = join(place.folder, 'default.vcl');
      await writeFile(
        file,
        `
vcl 4.1;
import directors;
${hosts.map((url, index) => `backend instance_${index} { .host = "${url.hostname}"; .port = "${url.port}"; }`).join('\n')}
sub vcl_init {
  new service = directors.round_robin();
  ${hosts.map((_, index) => `service.add_backend(instance_${index});`).join('\n  ')}
}
sub vcl_recv {
  set req.backend_hint = service.backend();
  set req.http.X-Forwarded-Proto = "https";
}
sub vcl_backend_error {
  if (bereq.retries < 2) {
    return (retry);
  }
}
`,
      );
      return [
        '-F',
        '-a',
        `127.0.0.1:${port}`,
        '-f',
        file,
        '-n',
        join(place.folder, 'work'),
        '-s',
        'malloc,32m',
      ];
    }),
});

row.it('does not say that a stopped service is ready', async () => {
  const { first, second } = row.cluster();
  expect((await row.send('/health/ready')).status).toBe(200);
  for (const instance of [first, second]) await instance.end('SIGKILL');
  expect((await row.send('/health/ready')).status).toBe(503);
  for (const instance of [first, second]) await instance.start();
});
