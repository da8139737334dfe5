import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Config } from '../../platform/config.ts';
import { messageOf } from '../../platform/db/contact.ts';
import { type Check, failed, ok, warning } from './check.ts';

const LIMIT_MS = 5_000;

/** Addresses that are nobody's (RFC 5737). */
const FORGED = ['192.0.2.1', '192.0.2.2'] as const;

/** An anonymous request, and how many tokens its client has left. */
async function ask(url: string, forged: string): Promise<{ response: Response; remaining: number }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-forwarded-for': forged,
      'x-request-id': `doctor-${randomUUID()}`,
    },
    body: '{"query":"{ __typename }"}',
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  await response.arrayBuffer();
  return { response, remaining: Number(response.headers.get('x-ratelimit-remaining') ?? Number.NaN) };
}

/** Asks for the service where clients do, and sees what the proxy has made of the requests. Never rejects. */
export async function proxyChecks({ publicUrl, trustProxy }: Config): Promise<Check[]> {
  if (publicUrl === undefined)
    return [ok('proxy', 'PUBLIC_URL is not set: there is no address to ask at from outside')];
  try {
    const { response, remaining } = await ask(publicUrl, FORGED[0]);
    if (Number.isNaN(remaining))
      return [
        failed(
          'proxy',
          `${publicUrl} answers with ${response.status}, and not as this service does`,
          'see where PUBLIC_URL leads',
        ),
      ];
    const tls = response.headers.has('strict-transport-security')
      ? ok('proxy', `${publicUrl} answers, and says that it was asked over TLS`)
      : publicUrl.startsWith('https:')
        ? failed(
            'proxy',
            `${publicUrl} answers, but the service does not learn that it was asked over TLS`,
            `list the address of the proxy in TRUST_PROXY (now ${trustProxy.join(', ') || 'empty'}), and have it send X-Forwarded-Proto`,
          )
        : warning('proxy', `${publicUrl} is plain HTTP`, 'put TLS in front of the service');
    // Somebody else at this address may take tokens meanwhile, never give any back.
    const second = await ask(publicUrl, FORGED[1]);
    const forged = second.remaining >= remaining;
    return [
      tls,
      forged
        ? failed(
            'client-address',
            'two requests with different X-Forwarded-For count as two clients: anybody can choose their address',
            'have the proxy replace X-Forwarded-For, or add to it, and list only proxies in TRUST_PROXY',
          )
        : ok('client-address', 'what a client writes in X-Forwarded-For is not believed'),
    ];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [
      failed(
        'proxy',
        `${publicUrl} cannot be asked: ${messageOf(cause)}`,
        'see the proxy, its certificate and the name',
      ),
    ];
  }
}

/** Never rejects. */
export async function redisCheck({ redisUrl }: Config): Promise<Check> {
  if (redisUrl === undefined) return ok('redis', 'REDIS_URL is not set: each instance has limits of its own');
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: LIMIT_MS,
    commandTimeout: LIMIT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // The command itself only says that there is no connection.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  const startedMs = performance.now();
  try {
    await redis.connect();
    await redis.ping();
    return ok('redis', `it answers in ${Math.ceil(performance.now() - startedMs)} ms`);
  } catch (error) {
    const todo =
      'see that Redis runs, and the address and the password in REDIS_URL: limits are per instance meanwhile';
    return failed('redis', messageOf(cause ?? error), todo);
  } finally {
    redis.disconnect();
  }
}
