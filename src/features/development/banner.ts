import { lookup } from 'node:dns/promises';
import { withToken } from '../../http/local-request.ts';
import { ACCOUNT } from '../../http/routes/table.ts';
import { DEMO_USERS, type DemoCredentials } from './demo-data.ts';
import { BUILD_EXAMPLE, EXAMPLE, isBuilt } from './example.ts';

/** These listen on all addresses of the machine, including loopback. */
const ANY_ADDRESS = new Set(['0.0.0.0', '[::]']);

/**
 * Finds the origin to open in a browser on this machine, with the name localhost if the service listens
 * there. Browsers send session cookies only between pages and services of one host name, and development
 * servers use localhost.
 */
async function browserOrigin(listening: string): Promise<string> {
  const { hostname, port } = new URL(listening);
  const address = hostname.replace(/^\[|\]$/g, '');
  // A machine may not resolve localhost.
  const named = await lookup('localhost', { all: true }).catch(() => []);
  const isLocalhost = ANY_ADDRESS.has(hostname) || named.some((found) => found.address === address);
  return isLocalhost ? `http://localhost:${port}` : listening;
}

/** A development start prints everything needed for a first request. */
export async function banner(
  listening: string,
  graphiql: boolean,
  demo: DemoCredentials | undefined,
  pageToken: string | undefined,
): Promise<string> {
  const origin = await browserOrigin(listening);
  const token = withToken(pageToken);
  const lines = ['', `  Content Graph API   ${origin}/graphql`, ''];
  lines.push(`  Start page          ${origin}/${token}   (open it in a browser)`);
  if (graphiql) lines.push(`  GraphiQL            ${origin}/graphql${token}`);
  lines.push(
    `  Example page        ${origin}${EXAMPLE}${isBuilt() ? '' : `   (built by "${BUILD_EXAMPLE}")`}`,
    `  Account page        ${origin}${ACCOUNT}`,
  );
  if (demo !== undefined) {
    const emails = DEMO_USERS.map(({ email }) => email).join(', ');
    lines.push(
      `  Demo API key        ${demo.apiKey}`,
      `  Demo password       ${demo.password}   (${emails})`,
      '',
      '  First call:',
      '',
      `curl -s ${origin}/graphql -H 'authorization: Bearer ${demo.apiKey}' -H 'content-type: application/json' -d '{"query":"{ posts(limit: 3) { title author { name } } }"}'`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}
