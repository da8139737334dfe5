import { createSourceEventStream, type ExecutionResult, validateSubscriptionArgs } from 'graphql';
import { accountOf, chargedTo, clientOf, isAuthenticated, type Principal } from '../../auth/principal.ts';
import { findLogLevel } from '../../database/errors.ts';
import { ApiError, addressBlocked, documentRetired, unauthenticated } from '../../platform/errors.ts';
import type { Logger } from '../../platform/log/log.ts';
import { EventReader } from '../core/context.ts';
import type { StreamType } from '../documents/operation-request.ts';
import type { RequestedDocuments } from '../documents/operation-stages.ts';
import type { PreparedOperation } from '../documents/prepared-operation.ts';
import type { StreamFormat } from '../events/event-stream.ts';
import type { EventFeed } from '../events/feed.ts';
import { lastEventId, lastEventIdError } from '../events/last-event-id.ts';
import type { OperationPlugin } from '../operation/lifecycle.ts';
import type { EventsAfter, OperationArgs, OperationContext } from '../operation/operation-context.ts';
import {
  type CostCeilings,
  executed,
  type Outcome,
  rejected,
  type SingleResult,
  serializeResponse,
} from '../operation/outcome.ts';
import type { CredentialWatch } from './credential-watch.ts';
import type { EventRenderer, SubscriptionArgs } from './event-responses.ts';
import type { FanOut } from './fan-out.ts';
import type { StreamLimit } from './stream-limit.ts';
import type { StreamMetrics } from './stream-metrics.ts';
import type { SubscriberStream } from './subscriber-stream.ts';

/**
 * Stream tokens open subscriptions only.
 * @throws {ApiError} BAD_REQUEST for queries and mutations
 */
export function requireSubscription(kind: PreparedOperation['kind']): void {
  if (kind !== 'subscription')
    throw new ApiError(
      'BAD_REQUEST',
      'A stream token can only open a subscription. Use other credentials for queries and mutations.',
      { status: 400 },
    );
}

async function eventReaderOf(args: OperationArgs): Promise<EventReader | ExecutionResult> {
  const checked = validateSubscriptionArgs(args);
  if (!('schema' in checked)) return { errors: checked };
  const source = await createSourceEventStream(checked);
  if (source instanceof EventReader || !(Symbol.asyncIterator in source)) return source;
  throw new Error('a subscription field returned no event reader');
}

/** Returns the error with which a valid subscription would be rejected; undefined if it would start. */
export async function rejectionOf(args: OperationArgs, log: Logger): Promise<SingleResult | undefined> {
  const { requestId } = args.contextValue;
  const reader = await eventReaderOf(args);
  return reader instanceof EventReader ? undefined : executed(reader, { requestId, log });
}

/**
 * Ends a stream whose credentials were revoked or have expired. Interrupts a stream that the credentials still allow,
 * so that its client reconnects with the current scopes. Never rejects.
 */
async function recheckCredentials(
  stream: SubscriberStream,
  args: OperationArgs,
  present: Principal | undefined,
  { limits, log }: { readonly limits: CostCeilings; readonly log: Logger },
): Promise<void> {
  const { shownCost: cost, requestId } = args.contextValue;
  const extras = { cost, limits };
  if (present === undefined) {
    const error = unauthenticated(
      'The credentials of this stream expired or were revoked. Subscribe again with other credentials.',
    );
    return stream.finish(serializeResponse(rejected(error, { requestId, log }), extras));
  }
  try {
    const contextValue = { ...args.contextValue, caller: present };
    const rejection = await rejectionOf({ ...args, contextValue }, log);
    if (rejection === undefined) stream.interrupt();
    else stream.finish(serializeResponse(rejection, extras));
  } catch (error) {
    log.emit('streams.recheck_failed', { err: error, requestId }, findLogLevel(error));
    stream.interrupt();
  }
}

export interface EventIdOptions {
  readonly fanOut: FanOut;
  readonly createRenderer: (args: OperationArgs, subscription: SubscriptionArgs) => EventRenderer;
  readonly subscriptionArgs: (args: OperationArgs) => SubscriptionArgs;
  readonly streams: StreamLimit;
  readonly credentials: CredentialWatch;
  readonly watchPublished: RequestedDocuments['watch'];
  /**
   * Calls `onBlocked` once the IP address of a request is blocked.
   * @returns a function that stops the watch
   */
  readonly watchBlocked: (sender: OperationContext['sender'], onBlocked: () => void) => () => void;
  readonly metrics: StreamMetrics;
  readonly formats: Readonly<Record<StreamType, StreamFormat>>;
  /** Rejects with TIMEOUT if opening takes longer than an operation may take. */
  readonly inTime: <T>(work: Promise<T>) => Promise<T>;
  readonly limits: CostCeilings;
  readonly log: Logger;
}

/**
 * Opens the feed after an event, or at its end.
 * @throws {DatabaseError}
 */
export const openEvents =
  (feed: EventFeed): EventsAfter =>
  async (lastId) =>
    new EventReader(await feed.open(lastId));

export function useEventIds(options: EventIdOptions): OperationPlugin {
  const { streams, metrics, inTime, limits, log } = options;

  /**
   * Closes the stream with its credentials, its document, or a request that the client aborts before the stream
   * begins.
   */
  function bind(
    stream: SubscriberStream,
    { sender, published, shownCost: cost, caller, requestId }: OperationArgs['contextValue'],
    subscription: SubscriptionArgs,
  ): void {
    const { disconnectSignal } = sender;
    const endsWith = (error: () => ApiError) => () =>
      stream.finish(serializeResponse(rejected(error(), { requestId, log }), { limits, cost }));
    if (published !== undefined) stream.onClose(options.watchPublished(published, endsWith(documentRetired)));
    stream.onClose(options.watchBlocked(sender, endsWith(addressBlocked)));
    if (isAuthenticated(caller))
      stream.onClose(
        options.credentials.watch(
          caller,
          (present) => void recheckCredentials(stream, subscription.rebuild(), present, options),
        ),
      );
    if (disconnectSignal?.disconnected) stream.close();
    else disconnectSignal?.onDisconnect(() => stream.close());
  }

  function begin(args: OperationArgs, { start }: EventReader, leave: () => void): Outcome {
    const { requestId, sender, request, visibleHeartbeats } = args.contextValue;
    if (start.failure !== undefined) {
      leave();
      const outcome = rejected(lastEventIdError(start.failure), { requestId, log });
      return { kind: 'unresumable', startId: start.eventId, outcome };
    }
    sender.reservation.countFor(chargedTo(sender));
    // Admission has rejected a subscription that accepts no stream.
    const type = sender.streamType ?? 'text/event-stream';
    const subscription = options.subscriptionArgs(args);
    const stream = options.fanOut.open({
      renderer: options.createRenderer(args, subscription),
      format: options.formats[type],
      start,
      visibleHeartbeats,
      owner: chargedTo(sender),
      bytes: subscription.bytes,
    });
    stream.onClose(leave);
    const ended = metrics.opened(type);
    stream.onClose(() => ended(stream.closeReason));
    bind(stream, args.contextValue, subscription);
    if (lastEventId(request) !== undefined) metrics.resumed();
    return { kind: 'stream', stream };
  }

  async function openStream(args: OperationArgs): Promise<Outcome> {
    const { sender, requestId } = args.contextValue;
    const leave = await streams.open({
      client: clientOf(sender),
      account: accountOf(sender),
      connection: sender.connection,
    });
    try {
      const reader = await inTime(eventReaderOf(args));
      if (reader instanceof EventReader) return begin(args, reader, leave);
      leave();
      return executed(reader, { requestId, log });
    } catch (error) {
      leave();
      throw error;
    }
  }

  return { name: 'event-ids', stages: { openStream } };
}
