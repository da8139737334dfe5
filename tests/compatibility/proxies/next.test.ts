import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, start, until } from '../../../scripts/cluster/processes.ts';
import { describeProxy } from '../support/proxy-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

/** Only ends a start that hangs. */
const LIMIT_MS = 240_000;
const PACKAGES = join(import.meta.dirname, '../node_modules');

const port = await freePort();
const ORIGIN = `http://localhost:${port}`;

describeProxy({
  name: 'Next.js rewrites',
  version: packageVersion('next'),
  checks: {
    requests: WORKS,
    streams: WORKS,
    sessions: worksWith("`CORS_ORIGINS` with the page's origin, because rewrites change `Host`"),
  },
  settings: { CORS_ORIGINS: ORIGIN },
  balances: false,
  async start({ instances: [instance], folder, keep }) {
    await mkdir(join(folder, 'pages'));
    await symlink(PACKAGES, join(folder, 'node_modules'));
    await writeFile(join(folder, 'package.json'), '{ "private": true }');
    await writeFile(join(folder, 'pages/index.js'), 'export default () => null;\n');
    const rewrites = ['/graphql', '/login', '/health/ready'].map((source) => ({
      source,
      destination: `${instance.origin}${source}`,
    }));
    await writeFile(
      join(folder, 'next.config.mjs'),
      `export default { rewrites: async () => (${JSON.stringify(rewrites)}) };\n`,
    );
    const service = start({
      file: process.execPath,
      args: [join(PACKAGES, 'next/dist/bin/next'), 'dev', '--hostname', 'localhost', '--port', String(port)],
      cwd: folder,
      env: { HOME: folder, NEXT_TELEMETRY_DISABLED: '1' },
    });
    keep(() => service.stop());
    const isReady = async () => (await fetch(`${ORIGIN}/health/ready`)).ok;
    await until('Next.js', isReady, { service, signal: AbortSignal.timeout(LIMIT_MS) });
    return ORIGIN;
  },
});
