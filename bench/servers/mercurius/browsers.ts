import { constants } from 'node:zlib';
import fastifyCompress from '@fastify/compress';
import fastifyCors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

const ORIGINS = process.env.BROWSER_ORIGINS?.split(',');

/** CORS and compression by Fastify's own plugins, at the levels and with the exceptions of the service. */
export async function addBrowsers(app: FastifyInstance): Promise<void> {
  if (ORIGINS === undefined) return;
  await app.register(fastifyCors, { origin: ORIGINS, credentials: true });
  app.addHook('onRequest', (request, _reply, done) => {
    // Looked for by the plugin.
    if (request.headers.cookie !== undefined) request.headers['x-no-compression'] = 'true';
    done();
  });
  await app.register(fastifyCompress, {
    threshold: 1_025,
    encodings: ['br', 'gzip'],
    brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } },
    zlibOptions: { level: 1 },
  });
}
