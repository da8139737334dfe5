/** A request that anybody can send, as bytes on the wire. */
export interface AnonymousRequest {
  readonly name: string;
  readonly bytes: Buffer;
}

interface Message {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

const HOST = 'host: 127.0.0.1\r\n';

/** A request as the proxy in front of the service passes it on from an address. */
export const from = (address: string, bytes: Buffer): Buffer =>
  Buffer.from(
    bytes.toString().replace(HOST, `${HOST}x-forwarded-for: ${address}\r\nx-forwarded-proto: https\r\n`),
  );

function request(path: string, { method = 'GET', headers = {}, body = '' }: Message = {}): AnonymousRequest {
  const fields = {
    host: '127.0.0.1',
    ...(body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...headers,
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    name: `${method} ${path.split('?')[0]}`,
    bytes: Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`),
  };
}

/** Of a client that does not exist. */
const WRONG = {
  grant_type: 'client_credentials',
  token: 'x',
  client_id: '0'.repeat(36),
  client_secret: 'wrong',
};

const named = (name: string, { bytes }: AnonymousRequest): AnonymousRequest => ({ name, bytes });

export const form = (path: string, fields: Readonly<Record<string, string>> = WRONG) =>
  request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  });

const json = (path: string, body: unknown) =>
  request(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Every route that answers callers without credentials, in the form that makes it work the most. */
export const ANONYMOUS: readonly AnonymousRequest[] = [
  request('/health/live'),
  request('/health/ready'),
  named('GET /metrics, of this machine', request('/metrics')),
  named('GET /metrics', request('/metrics', { headers: { 'x-forwarded-for': '203.0.113.7' } })),
  request('/.well-known/oauth-authorization-server'),
  request('/oauth/jwks'),
  request('/oauth/authorize?response_type=code&client_id=nobody&redirect_uri=https://client.example/'),
  request('/oauth/interaction/nobody'),
  form('/oauth/token'),
  form('/oauth/introspect'),
  form('/oauth/revoke'),
  json('/login', { email: 'nobody@example.org', password: 'a wrong passphrase' }),
  json('/graphql', { query: '{ posts { id } }' }),
  json('/graphql/stream-token', { query: 'subscription { postCreated { id } }' }),
  named('POST /graphql, a bad key', request('/graphql?api_key=x', { method: 'POST' })),
  named(
    'preflight',
    request('/graphql', {
      method: 'OPTIONS',
      headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
    }),
  ),
  named('an unknown path', request('/nowhere')),
  named('an unknown path, a bad key', request('/favicon.ico?api_key=x')),
];
