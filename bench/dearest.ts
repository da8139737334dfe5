/**
 * Looks for the dearest operations that the limits accept, by hill climbing: by the bytes of the answer, the CPU time of
 * the database and of node, SQL statements and memory, and by each of them for the points that the operation is taken
 * to cost. On both databases, with the operation limits of the default settings.
 *
 *   npm run bench -- dearest [--quick] [--seed N] [--seconds N] [--out FILE]
 *
 * `--seconds` is how long each database is searched; with less than the usual nothing is written to results.md. `--out`
 * appends the operations in full, as lines of JSON.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openWorkspace } from './data/workspace.ts';
import { Changes } from './dearest/changes.ts';
import { Climb } from './dearest/climb.ts';
import { Scales } from './dearest/costs.ts';
import { inFull, report } from './dearest/report.ts';
import { seeds } from './dearest/seeds.ts';
import { type Furnished, onEmbedded, onPostgres, PREPARED } from './dearest/services.ts';
import { withCleanup } from './harness/cleanup.ts';
import { generator } from './harness/random.ts';
import { progress, publish } from './report/results.ts';
import { versions } from './report/versions.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    out: { type: 'string' },
  },
});
const { quick, out, seconds } = values;
const SEED = Number(values.seed);
const USUAL_SECONDS = 180;
const SECONDS = Number(seconds ?? (quick ? 10 : USUAL_SECONDS));
/** The part of the time that what the search begins with may take. */
const FIRST_PART = 0.5;
/** How often the dearest are weighed once more. */
const AT_LAST = quick ? 2 : 5;
const POSTGRES_SIZE = quick ? { users: 500, posts: 10_000 } : { users: 10_000, posts: 200_000 };
/** The embedded database is for small ones. */
const EMBEDDED_SIZE = quick ? { users: 500, posts: 5_000 } : { users: 1_000, posts: 20_000 };

async function search(title: string, { searched, known }: Furnished): Promise<string> {
  const draw = generator(SEED);
  const scales = new Scales(searched);
  const climb = new Climb(scales, new Changes(draw, known), draw);
  const startMs = performance.now();
  const beginEndMs = startMs + 1_000 * SECONDS * FIRST_PART;
  progress(`${title}: what there is to begin with`);
  for (const operation of seeds(known)) if (performance.now() < beginEndMs) await climb.try(operation);
  progress(`${title}: climbing from ${climb.accepted} operations`);
  await climb.until(startMs + 1_000 * SECONDS);
  progress(`${title}: weighing again`);
  const dearest = await climb.dearest(AT_LAST);
  await searched.server.stop();
  const text = `### ${title}\n\n${report(dearest, { accepted: climb.accepted, seconds: SECONDS })}`;
  progress(text);
  if (out !== undefined) writeFileSync(out, inFull(title, dearest), { flag: 'a' });
  return text;
}

await withCleanup(async (cleanup) => {
  progress('loading');
  const workspace = await openWorkspace(cleanup, { ...PREPARED, size: POSTGRES_SIZE });
  const parts = [
    await search('PostgreSQL', await onPostgres(cleanup, workspace)),
    await search('Embedded database', await onEmbedded(cleanup, EMBEDDED_SIZE)),
    versions(workspace.postgresVersion, workspace.postgresSettings),
  ];
  const about = `Operations found by hill climbing, from hand-written ones and by each measure, with the default limits and introspection on. The data: one author has a fifth of all posts, posts with many tags, with 1,000 comments, with bodies of 50,000 characters. A figure is the least of several, each with a text that the service has not met; CPU time of the database and of all other threads of the process, memory beyond what the process held before. Allowed are 20 ms of the database and 10 ms a MiB of the answer; beyond that, (!).`;
  publish('Dearest operations', [about, ...parts].join('\n\n'), quick || SECONDS < USUAL_SECONDS);
});
