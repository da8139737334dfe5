import { describe, expect, it, onTestFinished } from 'vitest';
import { seededRandom } from '../support/random.ts';
import { Authors } from './support/authors.ts';
import { selectionsFor } from './support/change-selections.ts';
import { Crowd } from './support/crowd.ts';
import { createOwnDatabase, type OwnDatabase, readRows } from './support/database.ts';
import { createInstance } from './support/instance.ts';
import { type Change, keyOf, Ledger } from './support/ledger.ts';
import { issuePaths } from './support/stream-tokens.ts';
import { Target } from './support/target.ts';
import { findProblems } from './support/verify.ts';

const NAMES = ['Ada', 'Ben', 'Cleo'];
const SUBSCRIBERS = 2_000;
/** These are there before the first post; the others come one stop after another. */
const EARLY_SUBSCRIBERS = 1_700;
/** So many posts each author writes while an instance is stopped, and again while its subscribers come back. */
const POSTS_AT_STOP = 20;
const POSTS_AT_RETURN = 8;
/** An instance is stopped once it has so many streams: there is something to lose. */
const LEAST_STREAMS = 300;
const PRINTED_PROBLEMS = 20;

interface Stop {
  readonly instance: 0 | 1;
  readonly signal: 'SIGKILL' | 'SIGTERM';
  /** Whether everybody has everything before the next stop. Otherwise that one meets those who catch up. */
  readonly settles: boolean;
}

const STOPS: readonly Stop[] = [
  { instance: 0, signal: 'SIGKILL', settles: true },
  { instance: 1, signal: 'SIGKILL', settles: false },
  { instance: 0, signal: 'SIGTERM', settles: true },
  { instance: 1, signal: 'SIGKILL', settles: false },
  { instance: 0, signal: 'SIGKILL', settles: false },
  { instance: 1, signal: 'SIGTERM', settles: true },
];

/** The names of all changes, in the order of the event log. A post that was created twice has its name twice. */
async function readStored(database: OwnDatabase, ledger: Ledger): Promise<string[]> {
  const rows = await readRows<Change & { readonly title: string | null }>(
    database,
    `SELECT kind, root_id AS "postId", part_id AS "commentId", title
     FROM events LEFT JOIN posts ON posts.id = root_id ORDER BY xid, events.id`,
  );
  return rows.map((row) => {
    const unknown = row.kind === 'POST_CREATED' ? row.title : undefined;
    return ledger.find(keyOf(row))?.name ?? unknown ?? keyOf(row);
  });
}

/** Stops the instances and starts them again while posts are written and changed and subscribers come. */
async function stopOneAfterAnother(
  targets: readonly Target[],
  crowd: Crowd,
  authors: Authors,
  report: (what: string) => void,
): Promise<void> {
  for (const { instance, signal, settles } of STOPS) {
    const target = targets[instance];
    if (target === undefined) throw new Error('there are two instances');
    await crowd.connectedTo(target, LEAST_STREAMS);
    let restarting: Promise<void> | undefined;
    await authors.write(POSTS_AT_STOP, () => {
      restarting = target.restart(signal);
      crowd.add((SUBSCRIBERS - EARLY_SUBSCRIBERS) / STOPS.length);
    });
    await restarting;
    await authors.write(POSTS_AT_RETURN);
    report(`${target.name} is back from ${signal}, ${authors.changes} changes are acknowledged`);
    if (!settles) continue;
    // Who comes after a post does not get it.
    await crowd.allConnected();
    await crowd.allHave(await authors.writeLast());
    report('everybody has everything');
  }
}

describe('two instances with 2,000 subscribers', () => {
  it('give each exactly the posts or changes committed since it connected, in the order of the log, whatever is stopped', async () => {
    const startedAt = performance.now();
    const report = (what: string) => {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      process.stdout.write(`crowd, after ${seconds} s: ${what}\n`);
    };
    const database = await createOwnDatabase(NAMES);
    const { keys } = database;
    const users = await readRows<{ id: string; name: string }>(database, 'SELECT id, name FROM users');
    const accounts = NAMES.map((name, index) => ({
      name,
      id: users.find((user) => user.name === name)?.id ?? '',
      key: keys[index] ?? '',
    }));
    const settings = { ...database.settings, MAX_STREAMS_PER_CLIENT: String(SUBSCRIBERS) };
    const targets = await Promise.all(
      ['A', 'B'].map(async (name) => new Target(name, await createInstance(settings))),
    );
    const origins = targets.map(({ origin }) => origin);
    const ledger = new Ledger();
    const authors = new Authors({ accounts, origins, ledger });
    await Promise.all(targets.map((target) => target.start()));
    await authors.begin();
    const selections = selectionsFor(authors.accounts);
    const all = [...selections.shared.flat(), ...selections.executed];
    const tokenPathOf = await issuePaths(origins[0] ?? '', keys, all);
    const random = seededRandom('crowd: subscribers');
    const crowd = new Crowd({ targets, keys, selections, tokenPathOf, random });
    onTestFinished(() => crowd.stop());
    crowd.add(EARLY_SUBSCRIBERS);
    await crowd.allConnected();
    report(`${EARLY_SUBSCRIBERS} subscribers are connected`);
    await stopOneAfterAnother(targets, crowd, authors, report);
    // Nobody is stopped any more: now they get what is new.
    await authors.write(POSTS_AT_STOP);
    await crowd.allHave(await authors.writeLast());
    await crowd.stop();
    const exits = await Promise.all(targets.map((target) => target.stop('SIGTERM')));

    const problems = [
      ...findProblems({
        clients: crowd.accounts(ledger),
        posts: ledger.told,
        stored: await readStored(database, ledger),
        storedInOrder: true,
      }),
      ...crowd.wrongContent(ledger),
      ...targets.flatMap(({ alarms }) => alarms),
    ];
    const figures = { changes: ledger.told.size, ...crowd.figures, retries: authors.retries };
    report(JSON.stringify({ ...figures, problems: problems.length }));
    expect(problems.slice(0, PRINTED_PROBLEMS)).toEqual([]);
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
  });
});
