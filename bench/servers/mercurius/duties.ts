import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { pino } from 'pino';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { type Account, accountOf, accountOfSession, knownAccountOf } from './accounts.ts';
import { checkComplexity } from './complexity.ts';
import { takeToken } from './token-bucket.ts';

declare module 'fastify' {
  interface FastifyRequest {
    clientId?: string;
    operation?: string;
    operationName?: string;
  }
}

/** The service's own limits. */
export const SERVER_LIMITS = {
  bodyLimit: 1_048_576,
  requestIdHeader: 'x-request-id',
  genReqId: () => randomUUID(),
} as const;

export const MERCURIUS_LIMITS = {
  queryDepth: 10,
  graphql: { parseOptions: { maxTokens: 1_000 } },
};

const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

function reject(reply: FastifyReply, status: number, code: string, message: string): void {
  void reply.code(status).send({ data: null, errors: [{ message, extensions: { code } }] });
}

/** Lines leave in blocks, as those of the service do. */
const log = pino(
  { base: null, timestamp: pino.stdTimeFunctions.isoTime },
  pino.destination({ dest: 1, sync: false, minLength: 32_768, maxWrite: 131_072, periodicFlush: 1_000 }),
);

/** One line and one observation for each response. */
function addLogAndMetrics(app: FastifyInstance): void {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    registers,
    name: 'http_requests_total',
    help: 'HTTP responses by status.',
    labelNames: ['status'],
  });
  const duration = new Histogram({
    registers,
    name: 'graphql_duration_seconds',
    help: 'Time from request to response by kind of operation.',
    labelNames: ['operation'],
    buckets: BUCKETS,
  });
  app.addHook('onResponse', (request, reply, done) => {
    const { id, method, operation = 'none', operationName, clientId } = request;
    const durationMs = reply.elapsedTime;
    requests.inc({ status: reply.statusCode });
    duration.observe({ operation }, durationMs / 1000);
    log.info(
      {
        requestId: id,
        method,
        path: '/graphql',
        status: reply.statusCode,
        durationMs,
        client: clientId,
        operation,
        operationName,
      },
      'request',
    );
    done();
  });
  app.get('/metrics', async (_request, reply) => {
    reply.type(registry.contentType);
    return registry.metrics();
  });
}

/** Looks at an operation once Mercurius has validated it: counts it, and says what it is for the log and the metrics. */
function addOperationCheck(app: FastifyInstance): void {
  app.addHook('onReady', async () => {
    app.graphql.addHook('preExecution', async (schema, document, { reply: { request } }, variables) => {
      checkComplexity(schema, document, variables);
      const [operation] = document.definitions;
      if (operation?.kind !== 'OperationDefinition') return;
      request.operation = operation.operation;
      request.operationName = operation.name?.value ?? '';
    });
  });
}

/**
 * What the service does for each request besides answering it: an id, the API key, a token of the client's bucket, a
 * line in the log and metrics, and limits on the operation.
 */
export function addDuties(app: FastifyInstance): void {
  addLogAndMetrics(app);
  addOperationCheck(app);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    const { authorization = '' } = request.headers;
    const key = authorization.startsWith('Bearer ') ? authorization.slice('Bearer '.length) : '';
    const admit = (account: Account | undefined) => {
      if (account === undefined) return reject(reply, 401, 'UNAUTHENTICATED', 'A valid API key is needed.');
      request.accountId = account.userId;
      request.clientId = account.clientId;
      const { allowed, headers } = takeToken(account.clientId, account);
      reply.headers(headers);
      if (!allowed) return reject(reply, 429, 'RATE_LIMITED', 'Too many requests.');
      done();
    };
    const session = /(?:^|; )session_id=([^;]+)/.exec(request.headers.cookie ?? '')?.[1];
    if (session !== undefined) return void accountOfSession(session).then(admit, done);
    // Half a second long the response is at hand.
    const known = knownAccountOf(key);
    if (known === undefined) accountOf(key).then(admit, done);
    else admit(known.account);
  });
}
