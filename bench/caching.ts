/**
 * Answers asked for again: 304 against 200 in bytes and CPU, what an ETag costs, and what of a page that anybody may read
 * reaches the service through the cache of deploy/nginx.
 *
 *   npm run bench -- caching [--quick]
 */
import { ANSWERS, askAgain } from './caching/again.ts';
import { nginxVersion } from './caching/nginx.ts';
import { FRESH_SECONDS, PER_SECOND, readPublicPage } from './caching/public-page.ts';
import { PRODUCT, startContestant } from './contestants.ts';
import { openWorkspace } from './data/workspace.ts';
import { withCleanup } from './harness/cleanup.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const quick = process.argv.includes('--quick');
const SIZE = { users: 1_000, posts: 20_000 };
const CONNECTIONS = 16;
const AGAIN = {
  rounds: quick ? 3 : 12,
  connections: CONNECTIONS,
  warmUpMs: 300,
  durationMs: quick ? 300 : 800,
};
const PAGE = {
  rounds: quick ? 2 : 5,
  connections: CONNECTIONS,
  requests: quick ? 6_000 : 20_000,
  durationMs: quick ? 500 : 2_000,
};

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { size: SIZE });
  const running = await startContestant(cleanup, workspace, PRODUCT);
  const [again = '', validator = ''] = await askAgain(running, AGAIN);
  await running.server.stop();
  const page = await readPublicPage(cleanup, workspace, PAGE);
  const text = [
    `\`npm run bench -- caching\`. With a key, over GET, ${CONNECTIONS} connections: the whole answer, and the same asked for again with its \`ETag\` where nothing has changed. Median of ${AGAIN.rounds} rounds of ${AGAIN.durationMs / 1_000} s; ratios of CPU are medians of those within a round (quartiles). Bytes are those of an HTTP/1.1 response on the socket, head and body. \`Accept-Encoding\` is Chromium's, \`gzip, deflate, br, zstd\`, or absent. The database does the same work for a 304: what it saves comes after the query.`,
    Object.entries(ANSWERS)
      .map(([name, query]) => `- **${name}**: \`${query}\``)
      .join('\n'),
    again,
    'What the validator costs: the whole answer over GET, which has one, beside the same over POST, which has none. In the same rounds. The text of the query is in the address or in a body, so the difference is not the hash alone.',
    validator,
    `The list by the id of a published document and without credentials, through nginx with the files of \`deploy/nginx\` (without TLS) before two instances: answers kept for ${FRESH_SECONDS} s, and none. Of ${PAGE.requests.toLocaleString('en')} requests at ${PER_SECOND.toLocaleString('en')} a second in each of ${PAGE.rounds} rounds, those that \`http_requests_total\` of the instances counts. At most, a second: ${PAGE.durationMs / 1_000} s in which each of the ${CONNECTIONS} connections asks again at once. Load, nginx and instances share the cores, so the last ratio is a lower bound.`,
    page,
    `- ${nginxVersion()}\n${versions(workspace.postgresVersion, workspace.postgresSettings)}`,
  ].join('\n\n');
  publish('Answers asked for again', text, quick);
});
