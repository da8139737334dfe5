import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import webpack from 'webpack';
import WebpackDevServer from 'webpack-dev-server';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { describeProxy } from '../support/proxy-row.ts';
import { WORKS } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

describeProxy({
  name: 'webpack-dev-server',
  version: packageVersion('webpack-dev-server'),
  checks: { requests: WORKS, streams: WORKS, sessions: WORKS },
  balances: false,
  async start({ instances: [instance], folder, keep }) {
    const port = await freePort();
    await writeFile(join(folder, 'main.js'), '');
    const compiler = webpack({
      mode: 'development',
      context: folder,
      entry: './main.js',
      output: { path: folder },
      infrastructureLogging: { level: 'none' },
      stats: 'none',
    });
    const proxy = [{ context: ['/graphql', '/login'], target: instance.origin }];
    const server = new WebpackDevServer({ host: 'localhost', port, proxy }, compiler);
    await server.start();
    keep(() => server.stop());
    return `http://localhost:${port}`;
  },
});
