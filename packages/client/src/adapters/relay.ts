import {
  type CacheConfig,
  type FetchFunction,
  type GraphQLResponse,
  type INetwork,
  Network,
  Observable,
  type PayloadError,
  type RequestParameters,
  type SubscribeFunction,
} from 'relay-runtime';
import type { Client } from '../client.ts';
import type { TypedNode } from '../documents.ts';
import { ContentGraphError, type ServiceError } from '../errors.ts';
import type { Intent } from '../intents.ts';
import type { StreamState } from '../stream-state.ts';
import { MISSED_EVENTS } from './operation-context.ts';

/** What a `cacheConfig` of this network holds. */
interface Metadata {
  readonly followed?: string;
  readonly onState?: (state: StreamState) => void;
  readonly intent?: Intent;
}

type Data = NonNullable<Extract<GraphQLResponse, { data?: unknown }>['data']>;

/**
 * Creates the `cacheConfig` of a query and of the subscription that follows it. Use one name for both, so that nothing
 * between the result and the stream is missed.
 */
export function createFollowConfig(name: string, onState?: (state: StreamState) => void): CacheConfig {
  return { force: true, metadata: { followed: name, ...(onState && { onState }) } };
}

/** Creates the `cacheConfig` of a mutation that a person may send again. */
export function createIntentConfig(intent: Intent): CacheConfig {
  return { force: true, metadata: { intent } };
}

/** Relay takes arrays that it may change. */
function formatErrors(errors: readonly ServiceError[]): { errors?: PayloadError[] } {
  if (errors.length === 0) return {};
  const copied = errors.map(({ locations = [], path = [], ...error }) => ({
    ...error,
    locations: [...locations],
    path: [...path],
  }));
  return { errors: copied };
}

/** With `persistConfig`, the Relay compiler leaves an id in place of the query string. */
function findDocument({ id, text }: RequestParameters): string | TypedNode<Data, object> {
  return id == null ? (text ?? '') : { kind: 'Document', documentId: id };
}

/** Creates the network of a Relay environment. After missed events, a subscription fails with `EVENT_HISTORY_EXPIRED`. */
export function createRelayNetwork(client: Client): INetwork {
  /** The event ids of the queries that are followed. */
  const positions = new Map<string, string>();
  /** Events that arrive while a query is pending: its result may be older. */
  const pending = new Set<(() => void)[]>();

  async function execute(
    operation: RequestParameters,
    variables: object,
    { followed, intent }: Metadata,
    signal: AbortSignal,
  ): Promise<GraphQLResponse> {
    const document = findDocument(operation);
    if (operation.operationKind === 'mutation') {
      const { data, errors } = await client.mutate<Data, object>(document, variables, { signal, intent });
      return { data, ...formatErrors(errors) };
    }
    const { data, errors, eventId } = await client.query<Data, object>(document, variables, {
      signal,
      partial: true,
      showEventId: followed !== undefined,
    });
    if (followed !== undefined && eventId !== undefined) positions.set(followed, eventId);
    return { data, ...formatErrors(errors) };
  }

  const request: FetchFunction = (operation, variables, cacheConfig) =>
    Observable.create<GraphQLResponse>((sink) => {
      const leaving = new AbortController();
      const metadata: Metadata = cacheConfig.metadata ?? {};
      const late: (() => void)[] = [];
      if (operation.operationKind === 'query') pending.add(late);
      execute(operation, variables, metadata, leaving.signal)
        .finally(() => pending.delete(late))
        .then(
          (response) => {
            sink.next(response);
            for (const repeat of late) repeat();
            sink.complete();
          },
          (error: unknown) => {
            if (!leaving.signal.aborted)
              sink.error(error instanceof Error ? error : new Error(String(error)));
          },
        );
      return () => {
        pending.delete(late);
        leaving.abort();
      };
    });

  const subscribe: SubscribeFunction = (operation, variables, cacheConfig) =>
    Observable.create<GraphQLResponse>((sink) => {
      const leaving = new AbortController();
      const { signal } = leaving;
      const { followed = '', onState }: Metadata = cacheConfig.metadata ?? {};
      const run = async () => {
        const after = positions.get(followed);
        const document = findDocument(operation);
        for await (const event of client.subscribe<Data, object>(document, variables, {
          after,
          onState,
          signal,
        })) {
          if (event.type === 'missedEvents') {
            // The next stream of this name begins after the query that follows.
            positions.delete(followed);
            throw new ContentGraphError('EVENT_HISTORY_EXPIRED', MISSED_EVENTS.message, {
              errors: [MISSED_EVENTS],
            });
          }
          const { data, errors = [] } = event;
          const emit = () => sink.next({ data, ...formatErrors(errors) });
          for (const late of pending) late.push(emit);
          emit();
        }
      };
      run().then(
        () => sink.complete(),
        (error: unknown) => {
          if (!signal.aborted) sink.error(error instanceof Error ? error : new Error(String(error)));
        },
      );
      return () => leaving.abort();
    });

  return Network.create(request, subscribe);
}
