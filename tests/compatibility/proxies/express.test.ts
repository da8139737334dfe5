import { once } from 'node:events';
import compression from 'compression';
import express from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { freePort } from '../../../scripts/cluster/processes.ts';
import { describeProxy } from '../support/proxy-row.ts';
import { WORKS } from '../support/results.ts';
import { packageVersion } from '../support/versions.ts';

describeProxy({
  name: 'Express with compression and http-proxy-middleware',
  version: packageVersion('express'),
  checks: { requests: WORKS, streams: WORKS, sessions: WORKS },
  balances: false,
  async start({ instances: [instance], keep }) {
    const application = express();
    application.use(compression());
    application.use(createProxyMiddleware({ target: instance.origin }));
    const port = await freePort();
    const server = application.listen(port, '127.0.0.1');
    await once(server, 'listening');
    keep(async () => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${port}`;
  },
});
