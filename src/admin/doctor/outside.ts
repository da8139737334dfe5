import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Config } from '../../platform/config.ts';
import { messageOf } from '../../platform/db/contact.ts';
import { type Check, failed, ok, warning } from './check.ts';

const LIMIT_MS = 5_000;
/** How many tokens to take from one bucket, to see whether the second request takes from another one. */
const MOST_TAKEN = 20;
const TRIES = 3;

/** Reserved for documentation: no client has them (RFC 5737). */
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

/** Whether a client can pass for another one by a forged X-Forwarded-For. Rejects if nothing answers. */
async function clientAddress(url: string, { burst, perSecond }: Config['rateLimit']): Promise<Check> {
  const taken = Math.max(1, Math.min(MOST_TAKEN, Math.floor(burst / 4)));
  for (let tries = 0; tries < TRIES; tries += 1) {
    const startedMs = performance.now();
    const first = await Promise.all(Array.from({ length: taken }, () => ask(url, FORGED[0])));
    const second = await ask(url, FORGED[1]);
    // What a bucket has got back since. Somebody else at this address may only have taken more.
    const back = 1 + Math.ceil(((performance.now() - startedMs) / 1_000) * perSecond);
    const least = Math.min(...first.map(({ remaining }) => remaining));
    if (second.remaining > least + back)
      return failed(
        'client-address',
        'two requests with different X-Forwarded-For count as two clients: anybody can choose their address',
        'have the proxy replace X-Forwarded-For, or add to it, and list only proxies in TRUST_PROXY',
      );
    // A client of its own would have had all but one of its tokens.
    if (burst - 1 > least + back)
      return ok('client-address', 'what a client writes in X-Forwarded-For is not believed');
  }
  return warning(
    'client-address',
    'limits come back faster than the service answers, so this cannot be seen from outside',
    'look at "address" in the log of a request with a forged X-Forwarded-For',
  );
}

/** Asks for the service where clients do, and sees what the proxy has made of the requests. Never rejects. */
export async function proxyChecks({ publicUrl, trustProxy, rateLimit }: Config): Promise<Check[]> {
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
    return [tls, await clientAddress(publicUrl, rateLimit)];
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
