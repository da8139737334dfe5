import { expect, onTestFinished } from 'vitest';
import { startLossyProxy } from '../../clients/lossy-proxy.ts';
import { until } from '../../support/processes/process.ts';
import { createRow } from './check.ts';
import { type Cluster, provideCluster } from './cluster.ts';
import type { Row } from './results.ts';

export const NEWEST = 'query Newest($limit: Int!) { posts(limit: $limit) { id title } }';
export const CREATE =
  'mutation Create($title: String!) { createPost(title: $title, body: "Body") { id title } }';
export const CREATED = 'subscription Created { postCreated { id title } }';

/** More posts than one list may have. */
const TOO_MANY = 101;
const LOST_RESPONSES = 2;
const OPENED = 'is the stream open?';

export interface Post {
  readonly id: string;
  readonly title: string;
}

export interface Posts {
  readonly posts: readonly Post[];
}

export interface CreatedPost {
  readonly createPost: Post;
}

export interface PostEvent {
  readonly postCreated: Post;
}

/** Where a client finds the service, and as whom. */
export interface Endpoint {
  readonly url: string;
  readonly headers: { readonly authorization: string };
}

/** A library as an application uses it. It is without a method for what the library does not offer. */
export interface ClientDriver {
  /** The titles of the newest posts. Throws the error of the library. */
  newestTitles?(limit: number): Promise<readonly string[]>;
  /** The code of an error that `newestTitles` has thrown. */
  codeOf?(error: unknown): string | undefined;
  /** Creates a post under a key. Sends the mutation again until there is a response. @returns the id */
  createPost?(title: string, idempotencyKey: string): Promise<string>;
  /** Follows new posts. @returns a function that ends it */
  followPosts?(onTitle: (title: string) => void): () => void;
}

export interface ClientRow extends Omit<Row<'clients'>, 'group'> {
  createDriver(endpoint: Endpoint): ClientDriver;
}

function provided<Method>(method: Method | undefined): Method {
  if (method === undefined) throw new Error('the row has a verdict, but the driver lacks the method');
  return method;
}

const endpointOf = (cluster: Cluster, url = cluster.first.url): Endpoint => ({
  url,
  headers: { authorization: `Bearer ${cluster.ada.key}` },
});

/** Defines the tests of a client library. @returns what further tests of the row need */
export function describeClient({ createDriver, ...row }: ClientRow) {
  const tests = createRow({ group: 'clients', ...row });
  const cluster = provideCluster();

  tests.check('query', 'reads posts, and shows the code of an error', async () => {
    const driver = createDriver(endpointOf(cluster()));
    const newestTitles = provided(driver.newestTitles);
    await cluster().first.create('first', 'second');
    expect(await newestTitles(2)).toEqual(['second', 'first']);
    const error = await newestTitles(TOO_MANY).catch((thrown: unknown) => thrown);
    expect(provided(driver.codeOf)(error)).toBe('BAD_USER_INPUT');
  });

  tests.check('mutation', 'creates a post once although responses are lost', async () => {
    const { url, replayed } = await startLossyProxy(cluster().first.url, LOST_RESPONSES);
    const driver = createDriver(endpointOf(cluster(), url));
    const id = await provided(driver.createPost)('created once', 'task 1');
    const { data } = await cluster().first.gql('{ posts(limit: 1) { id title } }', {
      key: cluster().ada.key,
    });
    expect(data.posts).toEqual([{ id, title: 'created once' }]);
    expect(replayed).toEqual([false, true, true]);
    expect(await cluster().count('created once')).toBe(1);
  });

  tests.check('subscription', 'gets each event once over instances that are killed or stop', async () => {
    const { first, second } = cluster();
    const driver = createDriver(endpointOf(cluster()));
    const titles: string[] = [];
    onTestFinished(provided(driver.followPosts)((title) => void titles.push(title)));
    // A stream has a position once it delivers. Earlier posts are not its events.
    await until('an open stream', async () => {
      await first.create(OPENED);
      return titles.length > 0;
    });
    const sent: string[] = [];
    const arrive = async (title: string) => {
      sent.push(title);
      await expect.poll(() => titles.filter((arrived) => arrived !== OPENED)).toEqual(sent);
    };
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      await first.end(signal);
      await second.create(`missed by ${signal}`);
      await first.start();
      await arrive(`missed by ${signal}`);
      await first.create(`after ${signal}`);
      await arrive(`after ${signal}`);
    }
  });

  return { ...tests, cluster, endpoint: () => endpointOf(cluster()) };
}
