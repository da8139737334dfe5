import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  GROUPS,
  type GroupName,
  type Host,
  type Result,
  type Results,
  type Row,
  type Verdict,
} from '../tests/compatibility/support/results.ts';

const ROOT = join(import.meta.dirname, '..');
const SUITE = join(ROOT, 'tests/compatibility');
const RESULTS_FILE = join(SUITE, 'results.json');
export const PAGE_FILE = join(ROOT, 'docs/reference/compatibility.md');

/** The part of Vitest's JSON report that has the rows. */
export interface CompatibilityReport {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly meta: { readonly compatibility?: Row };
    }[];
  }[];
}

const INTRO = `# Compatibility

Clients, proxies and OAuth libraries that tests run against the service, with the settings that you need. To run the tests of one client:

\`\`\`sh
npm run test:compatibility -- clients/graphql-request
\`\`\`

With \`--write\`, the command also writes this page. The [client package](../../packages/client/README.md), which the tests do
not use, does most of the settings for you. All rows also hold with [plugins of Yoga](../contributing/yoga-plugins.md#tested-plugins).

In the tables, “works” means without settings other than URLs, credentials and ids, “settings” means with the settings below the table, and
“–” means that the software does not offer it.
`;

/** What a check shows, before the table of its group. */
const EXPLANATIONS: Readonly<Record<GroupName, string>> = {
  clients: `Queries return data and error codes. A mutation with an [\`Idempotency-Key\`](../guides/idempotency.md) is executed once, although two
responses are lost. A subscription gets each event once and in order, while instances are killed and stopped.`,
  proxies: `Requests get the responses of the service, with validators, replays and errors, and no account gets another's response. Streams deliver
each event immediately, close with their client, and resume on a ready instance. Pages of the same origin sign in and write; pages of another
origin get FORBIDDEN.`,
  oauth: `The clients use the service's [OAuth server](../guides/oauth.md). A user signs in with PKCE, and the access token calls the API.
[ID tokens](../guides/openid-connect.md) name the user. A refresh replaces both tokens. A service acts for its owner with client
credentials. A revoked sign-in is rejected. A sign-out ends the user's session and leads back to the application.`,
  issuers: `The service accepts an issuer's [JWTs](../guides/jwt.md#key-sets) for its accounts, and rejects tokens for another audience. A subject
that is not an account id gets [an account](../guides/identity-providers.md).`,
};

export const readCompatibilityResults = (): Results => JSON.parse(readFileSync(RESULTS_FILE, 'utf8'));

const WORDS = {
  works: 'works',
  'works with settings': 'settings',
  'does not work': 'does not work',
} as const;

const printVerdict = (verdict: Verdict | undefined) => (verdict === undefined ? '–' : WORDS[verdict.outcome]);

function printGroup(name: GroupName, rows: readonly Row[]): string {
  const { title, tool, checks } = GROUPS[name];
  const columns = Object.entries(checks);
  const verdicts = (row: Row) => row.checks as Readonly<Record<string, Verdict | undefined>>;
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const lines = rows.map((row) =>
    line([`${row.name} (${row.version})`, ...columns.map(([check]) => printVerdict(verdicts(row)[check]))]),
  );
  const notes = rows.flatMap((row) => {
    const sentences = columns.flatMap(([check, label]) => {
      const note = verdicts(row)[check]?.note;
      return note === undefined ? [] : [`${label}: ${note}.`];
    });
    if (sentences.length === 0) return [];
    return [[`- **${row.name}**`, ...sentences].join(sentences.length === 1 ? ', ' : '\n  - ')];
  });
  return [
    `## ${title}`,
    '',
    EXPLANATIONS[name],
    '',
    line([tool, ...columns.map(([, label]) => label)]),
    line(Array.from({ length: columns.length + 1 }, () => '---')),
    ...lines,
    '',
    ...notes,
    '',
  ].join('\n');
}

/** The content of `docs/reference/compatibility.md`. */
export function printCompatibilityPage({ direct }: Results): string {
  const groups = (Object.keys(GROUPS) as GroupName[]).map((name) =>
    printGroup(
      name,
      direct.map(({ row }) => row).filter(({ group }) => group === name),
    ),
  );
  return [INTRO, ...groups].join('\n');
}

/** Stores the rows whose tests have all passed, and writes the page. */
export function writeResults({ testResults }: CompatibilityReport): void {
  const host: Host = process.env.TEST_HOST === 'yoga' ? 'yoga' : 'direct';
  const results = readCompatibilityResults();
  const run: readonly Result[] = testResults.flatMap(({ name, assertionResults }) => {
    const row = assertionResults.find(({ meta }) => meta.compatibility !== undefined)?.meta.compatibility;
    const file = name.replace(`${SUITE}/`, '').replace('.test.ts', '');
    const isPassed = assertionResults.every(({ status }) => status === 'passed');
    return row === undefined || !isPassed ? [] : [{ file, row }];
  });
  const files = new Set(run.map(({ file }) => file));
  const kept = results[host].filter(({ file }) => !files.has(file));
  const sorted = [...kept, ...run].sort((one, other) => one.row.name.localeCompare(other.row.name, 'en'));
  const next: Results = { ...results, [host]: sorted };
  writeFileSync(RESULTS_FILE, `${JSON.stringify(next, undefined, 2)}\n`);
  writeFileSync(PAGE_FILE, printCompatibilityPage(next));
}
