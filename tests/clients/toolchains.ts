import { createClient } from '../../examples/clients/apollo/client.ts';
import { computedIds, idsOfManifest } from '../../examples/clients/documents/apollo-link.ts';
import * as codegen4 from '../../examples/clients/documents/generated/codegen-4/graphql.ts';
import * as codegen5 from '../../examples/clients/documents/generated/codegen-5/graphql.ts';
import * as codegen6 from '../../examples/clients/documents/generated/codegen-6/graphql.ts';
import * as withTypenames from '../../examples/clients/documents/generated/urql/graphql.ts';
import * as tada from '../../examples/clients/documents/gql-tada.ts';
import * as relay from '../../examples/clients/documents/relay/posts.ts';
import { idOf, send } from '../../examples/clients/documents/send.ts';
import { sendIds } from '../../examples/clients/documents/urql-exchange.ts';
import { createApi } from '../../examples/clients/gql-tada/api.ts';
import { createEnvironment } from '../../examples/clients/relay/environment.ts';
import { createUrqlClient } from '../../examples/clients/urql/client.ts';
import type { LiveService } from './live-service.ts';

interface Post {
  readonly title: string;
}

/** A client whose documents have been published. It sends their ids, and no texts. */
export interface ClientById {
  /** The titles of the posts with a tag. */
  read(tag: string): Promise<readonly string[]>;
  /** Creates a post with the tag `by-id`. */
  create(title: string): Promise<unknown>;
  /** Tells of new posts until it is stopped. */
  follow(onTitle: (title: string) => void): () => void;
}

export interface Toolchain {
  readonly name: string;
  /** Its section of docs/trusted-documents.md. */
  readonly section: string;
  connect(service: LiveService): ClientById;
}

const titlesOf = (posts: readonly Post[]) => posts.map(({ title }) => title);

/** Throws the errors of a response. */
function dataOf<Data>(answer: {
  readonly data?: Data | null | undefined;
  readonly error?: Error | undefined;
  readonly errors?: readonly { readonly message: string }[] | undefined;
}): Data {
  const { data, error, errors } = answer;
  if (data == null) throw error ?? new Error(errors?.map(({ message }) => message).join('\n'));
  return data;
}

/** Follows a subscription by its id, with `fetch` alone. */
function followById(
  { url, headers }: LiveService,
  documentId: string,
  onTitle: (title: string) => void,
): () => void {
  const stopped = new AbortController();
  const read = async () => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...headers, accept: 'text/event-stream', 'content-type': 'application/json' },
      body: JSON.stringify({ documentId }),
      signal: stopped.signal,
    });
    if (response.body === null) return;
    let text = '';
    for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
      const events = (text + part).split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const title = /"title":"([^"]*)"/.exec(event)?.[1];
        if (title !== undefined) onTitle(title);
      }
    }
  };
  read().catch((error: unknown) => {
    if (!stopped.signal.aborted) throw error;
  });
  return () => stopped.abort();
}

/** The client preset's documents, sent with `fetch`. */
function withFetch(
  service: LiveService,
  documents: typeof codegen4 | typeof codegen5 | typeof codegen6,
): ClientById {
  const { url, headers } = service;
  return {
    read: async (tag) =>
      titlesOf(dataOf(await send(url, headers, documents.PostsWithTagQueryDocument, { tag })).posts),
    create: async (title) =>
      dataOf(await send(url, headers, documents.PostsCreateMutationDocument, { title, body: 'b' })),
    follow: (onTitle) => followById(service, idOf(documents.PostsCreatedSubscriptionDocument), onTitle),
  };
}

function withTada(service: LiveService): ClientById {
  const api = createApi(service.url, service.headers);
  return {
    read: async (tag) => titlesOf((await api.query(tada.WITH_TAG, { tag })).posts),
    create: (title) => api.mutate(tada.CREATE, { title, body: 'b' }, title),
    follow: (onTitle) => followById(service, tada.CREATED.documentId, onTitle),
  };
}

function withRelay({ url, headers }: LiveService): ClientById {
  const environment = createEnvironment(url, headers);
  return {
    read: async (tag) => titlesOf(await relay.postsWithTag(environment, tag)),
    create: (title) => relay.createPost(environment, { title, body: 'b' }),
    follow: (onTitle) => relay.followPosts(environment, onTitle),
  };
}

function withApollo({ url, key }: LiveService, link: typeof idsOfManifest): ClientById {
  const client = createClient(url, key, link);
  const { PostsWithTagQueryDocument: query, PostsCreateMutationDocument: mutation } = codegen6;
  return {
    read: async (tag) => titlesOf(dataOf(await client.query({ query, variables: { tag } })).posts),
    create: async (title) => dataOf(await client.mutate({ mutation, variables: { title, body: 'b' } })),
    follow(onTitle) {
      const changes = client.subscribe({ query: codegen6.PostsCreatedSubscriptionDocument });
      const subscription = changes.subscribe((answer) => onTitle(dataOf(answer).postCreated.title));
      return () => subscription.unsubscribe();
    },
  };
}

function withUrql({ url, headers }: LiveService): ClientById {
  const client = createUrqlClient(url, headers, sendIds);
  const documents = withTypenames;
  return {
    read: async (tag) =>
      titlesOf(dataOf(await client.query(documents.PostsWithTagQueryDocument, { tag })).posts),
    create: async (title) =>
      dataOf(await client.mutation(documents.PostsCreateMutationDocument, { title, body: 'b' })),
    follow(onTitle) {
      const changes = client.subscription(documents.PostsCreatedSubscriptionDocument, {});
      const subscription = changes.subscribe((answer) => onTitle(dataOf(answer).postCreated.title));
      return () => subscription.unsubscribe();
    },
  };
}

const preset = (version: number, documents: Parameters<typeof withFetch>[1]): Toolchain => ({
  name: `codegen-${version}`,
  section: 'graphql-codegen',
  connect: (service) => withFetch(service, documents),
});

export const TOOLCHAINS: readonly Toolchain[] = [
  preset(4, codegen4),
  preset(5, codegen5),
  preset(6, codegen6),
  { name: 'gql.tada', section: 'gql.tada', connect: withTada },
  { name: 'Relay', section: 'Relay', connect: withRelay },
  { name: 'Apollo', section: 'Apollo Client', connect: (service) => withApollo(service, idsOfManifest) },
  { name: 'computed ids', section: 'Apollo Client', connect: (service) => withApollo(service, computedIds) },
  { name: 'urql', section: 'urql', connect: withUrql },
];
