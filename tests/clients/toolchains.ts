import { type Client, createClient, type Document, isContentGraphError } from 'content-graph-client';
import { onTestFinished } from 'vitest';
import { createApolloClient } from '../../examples/clients/apollo/client.ts';
import { computedIds, idsOfManifest } from '../../examples/clients/documents/apollo-link.ts';
import * as codegen4 from '../../examples/clients/documents/generated/codegen-4/graphql.ts';
import * as codegen5 from '../../examples/clients/documents/generated/codegen-5/graphql.ts';
import * as codegen6 from '../../examples/clients/documents/generated/codegen-6/graphql.ts';
import * as withTypenames from '../../examples/clients/documents/generated/urql/graphql.ts';
import * as tada from '../../examples/clients/documents/gql-tada.ts';
import * as relay from '../../examples/clients/documents/relay/posts.ts';
import { sendIds } from '../../examples/clients/documents/urql-exchange.ts';
import { createRelaySession } from '../../examples/clients/relay/environment.ts';
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
  /** Its section of docs/guides/trusted-documents.md. */
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

function open({ url, headers }: LiveService): Client {
  const client = createClient({ url, headers });
  onTestFinished(() => client.close());
  return client;
}

/** Follows a subscription that selects the titles of new posts. */
function follow<Variables>(
  client: Client,
  document: Document<{ postCreated: Post }, Variables>,
  variables: Variables,
  onTitle: (title: string) => void,
): () => void {
  const events = client.subscribe(document, variables);
  const read = async () => {
    for await (const event of events) if (event.type === 'data') onTitle(event.data.postCreated.title);
  };
  read().catch((error: unknown) => {
    if (!isContentGraphError(error, 'DOCUMENT_NOT_FOUND')) throw error;
  });
  return () => events.close();
}

/** The documents of the client preset, as the client sends them. */
function withClient(
  service: LiveService,
  documents: typeof codegen4 | typeof codegen5 | typeof codegen6,
): ClientById {
  const client = open(service);
  return {
    read: async (tag) =>
      titlesOf((await client.query(documents.PostsWithTagQueryDocument, { tag })).data.posts),
    create: (title) => client.mutate(documents.PostsCreateMutationDocument, { title, body: 'b' }),
    follow: (onTitle) => follow(client, documents.PostsCreatedSubscriptionDocument, {}, onTitle),
  };
}

function withTada(service: LiveService): ClientById {
  const client = open(service);
  return {
    read: async (tag) => titlesOf((await client.query(tada.WITH_TAG, { tag })).data.posts),
    create: (title) => client.mutate(tada.CREATE, { title, body: 'b' }),
    follow: (onTitle) => follow(client, tada.CREATED, {}, onTitle),
  };
}

function withRelay(service: LiveService): ClientById {
  const { environment } = createRelaySession(open(service));
  return {
    read: async (tag) => titlesOf(await relay.postsWithTag(environment, tag)),
    create: (title) => relay.createPost(environment, { title, body: 'b' }),
    follow: (onTitle) => relay.followPosts(environment, onTitle),
  };
}

function withApollo(service: LiveService, link: typeof idsOfManifest): ClientById {
  const client = createApolloClient(open(service), link);
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

function withUrql(service: LiveService): ClientById {
  const client = createUrqlClient(open(service), sendIds);
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

const preset = (version: number, documents: Parameters<typeof withClient>[1]): Toolchain => ({
  name: `codegen-${version}`,
  section: 'graphql-codegen',
  connect: (service) => withClient(service, documents),
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
