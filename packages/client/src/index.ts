export type { CallOptions, MutateOptions, OperationResult, QueryOptions } from './calls.ts';
export {
  type ChangeSource,
  type Changes,
  type ChangesOptions,
  type Follower,
  openChanges,
} from './changes.ts';
export { type Client, type ClientOptions, createClient, type Snapshot } from './client.ts';
export type { Document, TypedNode, TypedString } from './documents.ts';
export {
  type ClientCode,
  ContentGraphError,
  type ErrorCode,
  type ErrorDetails,
  isContentGraphError,
  type ServiceCode,
  type ServiceError,
} from './errors.ts';
export { createForwardedOptions, type ForwardedRequest, type ForwardingOptions } from './forwarding.ts';
export type { Intent, IntentOptions } from './intents.ts';
export {
  type Connection,
  compareNewestFirst,
  compareOldestFirst,
  type ItemChange,
  type ListPage,
  readConnection,
} from './live-list.ts';
export { type LiveList, type LiveQuery, type LiveQueryOptions, liveQuery } from './live-query.ts';
export type { IntentStorage } from './platform.ts';
export type { DocumentAstNode } from './print-document.ts';
export { createResumingFetch } from './resuming-fetch.ts';
export type { RetryPolicy } from './retry-policy.ts';
export type { Session, SessionUser } from './session.ts';
export type { Store } from './store.ts';
export type { ReconnectReason, StreamState } from './stream-state.ts';
export type { PositionStore, StreamEvent, StreamOptions, Subscription } from './subscription.ts';
export type { TransportOptions } from './transport.ts';
