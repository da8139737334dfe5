import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Config } from '../../platform/config.ts';
import { messageOf } from '../../platform/db/contact.ts';
import { type Check, createCheck } from './checks.ts';

const LIMIT_MS = 5_000;
/** Requests that take tokens from one bucket, so that the next request shows whether it takes from another one. */
const MOST_REQUESTS = 20;
const TRIES = 3;

/** Reserved for documentation: no client has them (RFC 5737). */
const [FORGED, OTHER_FORGED] = ['192.0.2.1', '192.0.2.2'];

/** Sends an anonymous request. `remaining` is how many tokens its client has left. */
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

/** Finds out whether clients can choose their address with X-Forwarded-For. Rejects if nothing responds. */
async function checkClientAddress(url: string, { burst, perSecond }: Config['rateLimit']): Promise<Check> {
  const count = Math.max(1, Math.min(MOST_REQUESTS, Math.floor(burst / 4)));
  for (let tries = 0; tries < TRIES; tries += 1) {
    const startedMs = performance.now();
    const first = await Promise.all(Array.from({ length: count }, () => ask(url, FORGED)));
    const second = await ask(url, OTHER_FORGED);
    // The bucket has got back a few tokens. Other clients at this address may only have taken more.
    const gained = 1 + Math.ceil(((performance.now() - startedMs) / 1_000) * perSecond);
    const most = gained + Math.min(...first.map(({ remaining }) => remaining));
    if (second.remaining > most)
      return createCheck(
        'client-address',
        'two requests with different X-Forwarded-For count as two clients: anybody can choose their address',
        'have the proxy replace X-Forwarded-For, or add to it, and list only proxies in TRUST_PROXY',
      );
    // A separate client would have all but one of its tokens.
    if (burst - 1 > most)
      return createCheck('client-address', 'what a client writes in X-Forwarded-For is not believed');
  }
  return createCheck(
    'client-address',
    'limits come back faster than the service responds, so this cannot be seen from outside',
    'look at "address" in the log of a request with a forged X-Forwarded-For',
    'warning',
  );
}

/** Sends requests to PUBLIC_URL, as clients do, and compares what the proxy has made of the requests. Never rejects. */
export async function checkProxy({ publicUrl, trustProxy, rateLimit }: Config): Promise<Check[]> {
  if (publicUrl === undefined) return [];
  const describe = (seen: string, ...rest: [todo?: string, status?: Check['status']]) =>
    createCheck('proxy', `${publicUrl} ${seen}`, ...rest);
  try {
    const { response, remaining } = await ask(publicUrl, FORGED);
    if (Number.isNaN(remaining))
      return [
        describe(
          `responds with ${response.status}, and not as this service does`,
          'see where PUBLIC_URL leads',
        ),
      ];
    const address = await checkClientAddress(publicUrl, rateLimit);
    if (response.headers.has('strict-transport-security'))
      return [describe('responds, and says that it was asked over TLS'), address];
    if (!publicUrl.startsWith('https:'))
      return [describe('is plain HTTP', 'put TLS in front of the service', 'warning'), address];
    const todo = `list the address of the proxy in TRUST_PROXY (now ${trustProxy.join(', ') || 'empty'}), and have it send X-Forwarded-Proto`;
    return [describe('responds, but the service does not learn that it was asked over TLS', todo), address];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [describe(`cannot be asked: ${messageOf(cause)}`, 'see the proxy, its certificate and the name')];
  }
}

/** Never rejects. */
export async function checkRedis({ redisUrl }: Config): Promise<Check[]> {
  if (redisUrl === undefined) return [];
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: LIMIT_MS,
    commandTimeout: LIMIT_MS,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // The error of a command only says that there is no connection.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    await redis.ping();
    return [createCheck('redis', 'it responds')];
  } catch (error) {
    const todo =
      'see that Redis runs, and the address and the password in REDIS_URL: limits are per instance meanwhile';
    return [createCheck('redis', messageOf(cause ?? error), todo)];
  } finally {
    redis.disconnect();
  }
}
