import { setTimeout as delay } from 'node:timers/promises';
import { seededRandom } from '../../support/random.ts';
import { type ResumingClient, startClient } from './client.ts';
import type { Instance } from './instance.ts';
import { NEW_TITLES, pathOf } from './selections.ts';
import { issuePath } from './stream-tokens.ts';
import { transportOf } from './transport.ts';
import { type Account, findProblems } from './verify.ts';
import { tick, writePosts } from './writers.ts';

export interface ChaosOptions {
  readonly instances: readonly Instance[];
  readonly key: string;
  /** Together with PROPERTY_SEED, it determines what the run draws. */
  readonly label: string;
  readonly clients: number;
  readonly posts: number;
  readonly writers: number;
  /** An instance is killed each time that so many more posts are acknowledged. */
  readonly postsAKill: number;
  /** Cuts some of the service's connections to its database; left out where there is no way to. */
  readonly cutConnections?: () => Promise<number>;
  /** The titles of all posts that there are. */
  readonly readStored: () => Promise<readonly string[]>;
}

export interface ChaosReport {
  readonly problems: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

/** The share of the clients that are there before the first post; the others come one by one while posts are made. */
const EARLY_SHARE = 0.8;
const POSTS_A_DISCONNECT = 10;
const POSTS_A_CUT = 60;
/** Only ends a run in which clients wait in vain. */
const CATCH_UP_LIMIT_MS = 300_000;
const POLL_MS = 50;

interface Subscription extends Pick<Account, 'connecting'> {
  readonly client: ResumingClient;
  connected: number;
}

/**
 * Runs writers and resuming clients against instances while these are killed, their database connections cut and the
 * clients disconnected, paced by the posts that are acknowledged. Finds out whether each client got what it had to.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { instances, key, label, clients, posts, writers, postsAKill } = options;
  const randomFor = (what: string) => seededRandom(`${label}: ${what}`);
  const kills = randomFor('kills');
  const disconnects = randomFor('disconnects');
  const choices = randomFor('choices');
  const origins = instances.map(({ origin }) => origin);
  const subscriptions: Subscription[] = [];
  const counts = { kills: 0, cuts: 0, disconnects: 0 };
  const underway: Promise<void>[] = [];
  const startedAt = performance.now();
  let restarting: Promise<void> = Promise.resolve();
  let selections: readonly ((typeof NEW_TITLES)[number] & { readonly tokenPath: string })[] = [];

  function subscribe(): Subscription {
    const connecting = tick();
    const transport = transportOf(subscriptions.length);
    const { query, itemIn, tokenPath } = choices.pick(selections);
    const access = transport.byToken
      ? { path: tokenPath, headers: {} }
      : { path: pathOf({ query }), headers: { authorization: `Bearer ${key}` } };
    const client = startClient({
      ...access,
      origins,
      transport,
      titleIn: itemIn,
      random: randomFor(`client ${subscriptions.length}`),
    });
    const subscription = { client, connecting, connected: Number.POSITIVE_INFINITY };
    subscriptions.push(subscription);
    underway.push(
      client.opened.then(() => {
        subscription.connected = tick();
      }),
    );
    return subscription;
  }

  /** Every so many posts something happens. One instance is down at a time; kills that fall due meanwhile follow it. */
  const due = {
    kill: postsAKill,
    cut: POSTS_A_CUT,
    disconnect: POSTS_A_DISCONNECT,
    client: 0,
    report: posts / 4,
  };
  const lateClients = clients - Math.round(clients * EARLY_SHARE);
  const postsAClient = Math.max(1, Math.floor(posts / (lateClients + 1)));
  due.client = postsAClient;
  function onProgress(acknowledged: number): void {
    for (; acknowledged >= due.report; due.report += posts / 4) {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      process.stdout.write(`${acknowledged} of ${posts} posts after ${seconds} s, ${counts.kills} kills\n`);
    }
    for (; acknowledged >= due.disconnect; due.disconnect += POSTS_A_DISCONNECT) {
      disconnects.pick(subscriptions).client.disconnect();
      counts.disconnects += 1;
    }
    for (; acknowledged >= due.client && subscriptions.length < clients; due.client += postsAClient)
      subscribe();
    for (; acknowledged >= due.kill && acknowledged < posts; due.kill += postsAKill) {
      counts.kills += 1;
      const victim = kills.pick(instances);
      restarting = restarting.then(() => victim.restart());
      underway.push(restarting);
    }
    for (; acknowledged >= due.cut; due.cut += POSTS_A_CUT) {
      const cut = options.cutConnections?.().then((count) => {
        counts.cuts += count;
      });
      if (cut !== undefined) underway.push(cut);
    }
  }

  await Promise.all(instances.map(({ start }) => start()));
  selections = await Promise.all(
    NEW_TITLES.map(async (selection) => ({
      ...selection,
      tokenPath: await issuePath(origins[0] ?? '', key, selection),
    })),
  );
  for (let early = clients - lateClients; early > 0; early -= 1) subscribe();
  await Promise.all(underway);
  const writer = { origins, key, writers, random: randomFor('attempts'), sizes: randomFor('sizes') };
  const writing = await writePosts({ ...writer, posts, firstNumber: 0, onProgress });
  await Promise.all(underway);
  // The last post comes after all others at every client: once it is there, nothing more is to come.
  const last = await writePosts({ ...writer, posts: 1, firstNumber: posts, onProgress: () => undefined });
  const [lastTitle = ''] = last.posts.keys();
  const deadline = performance.now() + CATCH_UP_LIMIT_MS;
  const caughtUp = () => subscriptions.every(({ client }) => client.titles.includes(lastTitle));
  while (!caughtUp() && performance.now() < deadline) await delay(POLL_MS);
  await Promise.all(subscriptions.map(({ client }) => client.stop()));
  const accounts = subscriptions.map(({ client, connecting, connected }) => ({
    titles: client.titles,
    complaints: client.complaints,
    connecting,
    connected,
  }));
  return {
    problems: findProblems({
      clients: accounts,
      posts: new Map([...writing.posts, ...last.posts]),
      stored: await options.readStored(),
    }),
    figures: {
      posts: writing.posts.size,
      clients: subscriptions.length,
      events: accounts.reduce((sum, { titles }) => sum + titles.length, 0),
      connections: subscriptions.reduce((sum, { client }) => sum + client.connections, 0),
      retries: writing.retries,
      ...counts,
      seconds: Math.round((performance.now() - startedAt) / 1000),
    },
  };
}
