import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { killAt } from '../support/processes/kills.ts';
import type { Exit } from '../support/processes/process.ts';
import { seededRandom } from '../support/random.ts';
import { createOwnDatabase } from './support/database.ts';
import { DocumentCommands } from './support/document-commands.ts';
import { DocumentReaders, type DocumentStream } from './support/document-readers.ts';
import { createInstance } from './support/instance.ts';
import { idOf, NOTICE_LIMIT_MS, Release } from './support/releases.ts';
import { Target } from './support/target.ts';

/** More than an instance keeps: look-ups are under way whenever a release is retired. */
const SIZE = 1_500;
const DUEL = { name: 'duel', first: 10_000, count: 100 };
const LARGE = { client: 'large', name: 'whole', first: 20_000, count: 2_000 };
/** Kills of a publisher at any moment, besides the one in the middle. */
const KILLS_AT_RANDOM = 2;
/** So long a command takes to begin. */
const LEAST_MS = 500;
const KILL_WITHIN_MS = 1_000;
const ENDED = /^next .*"DOCUMENT_NOT_FOUND".*complete/;
/** The instances that are killed during the first, second... publishing or retiring of a client. */
const KILLED = [undefined, 0, 1, 1, 0, 0, 1] as const;
const PRINTED_PROBLEMS = 20;

/** The periodic check of credentials must not hide a notification that was lost. */
const SETTINGS = { CREDENTIAL_RECHECK_MS: '30000' };

/** Releases of a client, each with half of the documents of the one before. */
const releasesOf = (client: string, offset: number): Release[] =>
  [0, 1, 2].map(
    (index) => new Release({ client, name: `r${index}`, first: offset + (index * SIZE) / 2, count: SIZE }),
  );

const parsed = ({ stdout }: Exit) => (stdout === '' ? undefined : JSON.parse(stdout));

/** What happens to the documents of two instances, and must be seen at both ten seconds later. */
class Scene {
  readonly #targets: readonly Target[];
  readonly #commands: DocumentCommands;
  readonly #readers: DocumentReaders;
  readonly #instanceKills = seededRandom('documents: kills of instances');
  readonly #publisherKills = seededRandom('documents: kills of publishers');

  constructor(targets: readonly Target[], commands: DocumentCommands, readers: DocumentReaders) {
    this.#targets = targets;
    this.#commands = commands;
    this.#readers = readers;
  }

  /** Publishes and retires one release after the other, as roll-outs do; the first one twice. */
  async rollOut(releases: readonly Release[], killed: readonly (number | undefined)[] = []): Promise<void> {
    const kills = [...killed];
    let before: Release | undefined;
    for (const release of [...releases, ...releases.slice(0, 1)]) {
      await this.#during(kills.shift(), () => this.#publish(release));
      if (before !== undefined) await this.#retire(before, kills.shift());
      before = release;
    }
  }

  /** Two publish other texts for the same ids at the same moment: one of them does. */
  async duel(one: Release, other: Release): Promise<void> {
    const published: Release[] = [];
    const attempt = (release: Release) =>
      release.change(async () => {
        const exit = await this.#commands.publish(release);
        if (exit.code !== 0) {
          this.#expectRejected(release, exit);
          return 'retired';
        }
        published.push(release);
        return 'published';
      });
    await Promise.all([attempt(one), attempt(other)]);
    const [winner, ...more] = published;
    if (winner === undefined) throw new Error('nobody has published');
    expect(more).toEqual([]);
    const loser = winner === one ? other : one;
    await delay(NOTICE_LIMIT_MS);
    await this.#readers.sweep(winner);
    await winner.change(async () => {
      expect((await this.#commands.retire(winner)).code).toBe(0);
      return 'retired';
    });
    await attempt(loser);
    await delay(NOTICE_LIMIT_MS);
    await this.#readers.sweep(winner);
    expect(published).toEqual([winner]);
    for (const number of winner.numbers)
      expect([winner.letter, undefined]).toContain(this.#readers.seen.get(number));
  }

  /** Kills who publishes a large release: all of it is there, or nothing. */
  async killPublishers(release: Release): Promise<void> {
    const whole = release.numbers.length + 2;
    const look = async () => {
      const count = await this.#commands.count(release);
      expect([0, whole]).toContain(count);
      return count === 0 ? 'retired' : 'published';
    };
    await release.change(async () => {
      await this.#commands.killInTheMiddle(release);
      expect(await this.#commands.count(release)).toBe(0);
      return 'retired';
    });
    await delay(NOTICE_LIMIT_MS);
    await this.#readers.sweep(release);
    for (let kill = 0; kill < KILLS_AT_RANDOM; kill += 1) {
      await release.change(async () => {
        const publisher = await this.#commands.launchPublish(release);
        await killAt(publisher, () => true, LEAST_MS + this.#publisherKills.below(KILL_WITHIN_MS));
        return look();
      });
      await delay(NOTICE_LIMIT_MS);
      await this.#readers.sweep(release);
    }
    await this.#publish(release);
  }

  #expectRejected({ numbers }: Release, exit: Exit): void {
    expect(exit.code).toBe(1);
    expect(parsed(exit)).toMatchObject({ published: 0, unchanged: 0 });
    expect(parsed(exit).rejected.map(({ id }: { id: string }) => id)).toEqual(numbers.map(idOf));
  }

  /** Kills an instance at some moment of what is done, and starts it again. */
  async #during(killed: number | undefined, act: () => Promise<void>): Promise<void> {
    const target = killed === undefined ? undefined : this.#targets[killed];
    const kill = async () => {
      await delay(this.#instanceKills.below(KILL_WITHIN_MS));
      await target?.restart('SIGKILL');
    };
    await Promise.all([act(), target === undefined ? undefined : kill()]);
  }

  async #publish(release: Release): Promise<void> {
    await release.change(async () => {
      const exit = await this.#commands.publish(release);
      expect(exit, exit.stderr).toMatchObject({ code: 0 });
      const { published, unchanged } = parsed(exit);
      expect(published + unchanged).toBe(release.numbers.length + 2);
      return 'published';
    });
    await delay(NOTICE_LIMIT_MS);
    await this.#readers.sweep(release);
  }

  /** Streams by its own id end with it; those by an id that another release has go on. */
  async #retire(release: Release, killed: number | undefined): Promise<void> {
    const { own, common } = release.streams;
    const open = (id: string) => Promise.all(this.#targets.map((target) => this.#readers.open(target, id)));
    const [ending, lasting] = await Promise.all([open(own), open(common)]);
    await this.#during(killed, async () => {
      await release.change(async () => {
        expect((await this.#commands.retire(release)).code).toBe(0);
        return 'retired';
      });
      await delay(NOTICE_LIMIT_MS);
      await this.#readers.sweep(release);
    });
    const problem = (stream: DocumentStream | undefined, right: (ending: string | undefined) => boolean) => {
      if (stream !== undefined && stream.ending !== 'broken' && !right(stream.ending))
        this.#readers.problems.push(`${stream.name}: ${stream.ending ?? 'goes on'}`);
    };
    for (const stream of ending) problem(stream, (said) => said !== undefined && ENDED.test(said));
    for (const stream of lasting) problem(stream, (said) => said === undefined);
    await Promise.all([...ending, ...lasting].map((stream) => stream?.close()));
  }
}

describe('two instances, while releases of documents are published and retired', () => {
  it('answer what has been published for ten seconds, with one text, and nothing that was retired', async () => {
    const startedAt = performance.now();
    const database = await createOwnDatabase(['Reader']);
    const targets = await Promise.all(
      ['A', 'B'].map(
        async (name) => new Target(name, await createInstance({ ...database.settings, ...SETTINGS })),
      ),
    );
    await Promise.all(targets.map((target) => target.start()));
    const [web, ios] = [releasesOf('web', 0), releasesOf('ios', SIZE / 4)];
    const one = new Release({ ...DUEL, client: 'one' });
    const other = new Release({ ...DUEL, client: 'other', letter: 'x' });
    const large = new Release(LARGE);
    const releases = [...web, ...ios, one, other, large];
    const readers = new DocumentReaders({ targets, releases, key: database.keys[0] ?? '' });
    onTestFinished(() => readers.stop());
    const scene = new Scene(targets, new DocumentCommands(database), readers);
    await Promise.all([
      scene.rollOut(web, KILLED),
      scene.rollOut(ios),
      scene.duel(one, other).then(() => scene.killPublishers(large)),
    ]);
    await readers.stop();
    const exits = await Promise.all(targets.map((target) => target.stop('SIGTERM')));
    const { problems, counts } = readers;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(`documents, ${seconds} s: ${JSON.stringify(counts)}\n`);
    expect([...problems, ...targets.flatMap(({ alarms }) => alarms)].slice(0, PRINTED_PROBLEMS)).toEqual([]);
    expect(exits.map(({ code }) => code)).toEqual([0, 0]);
  });
});
