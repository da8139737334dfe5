import { DEMO_USERS } from './data.ts';
import type { DemoCredentials } from './seed.ts';

/** Printed on a development start: everything needed for a first call. */
export function banner(origin: string, graphiql: boolean, demo: DemoCredentials | undefined): string {
  const lines = ['', `  Content Graph API   ${origin}/graphql`, ''];
  if (graphiql) lines.push(`  GraphiQL            ${origin}/graphql   (open it in a browser)`);
  lines.push(`  Example page        ${origin}/example/   (npm run example builds it)`);
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
