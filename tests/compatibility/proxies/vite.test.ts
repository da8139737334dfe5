import { createServer, type ProxyOptions } from 'vite';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { describeProxy } from '../support/proxy-row.ts';
import { WORKS, worksWith } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

describeProxy({
  name: 'Vite',
  version: packageVersion('vite'),
  checks: {
    requests: WORKS,
    streams: worksWith('a `proxyRes` listener in `configure` that ends streams of a stopped instance'),
    sessions: worksWith('`changeOrigin: false`, because the short form changes `Host`'),
  },
  balances: false,
  async start({ instances: [instance], folder, keep }) {
    const port = await freePort();
    const service: ProxyOptions = {
      target: instance.origin,
      changeOrigin: false,
      configure: (proxy) =>
        void proxy.on('proxyRes', (response, _request, outgoing) => {
          response.once('close', () => response.complete || outgoing.destroy());
        }),
    };
    const server = await createServer({
      configFile: false,
      root: folder,
      logLevel: 'silent',
      server: {
        host: 'localhost',
        port,
        strictPort: true,
        proxy: { '/graphql': service, '/login': service },
      },
    });
    keep(() => server.close());
    await server.listen();
    return `http://localhost:${port}`;
  },
});
