import type { ContentGraphError, ServiceError } from '../errors.ts';
import type { Intent } from '../intents.ts';
import type { StreamState } from '../stream-state.ts';

/** What the context of an operation may have, in libraries with a context. */
export interface ContentGraphContext {
  /** The key of a mutation. */
  readonly key?: string | undefined;
  /** The intent of a mutation. */
  readonly intent?: Intent | undefined;
  /** Asks a query for `extensions.eventId`. */
  readonly showEventId?: boolean | undefined;
  /** Follows from this event id. */
  readonly after?: string | undefined;
  readonly onState?: ((state: StreamState) => void) | undefined;
  readonly onRetry?: ((error: ContentGraphError, retryAtMs: number) => void) | undefined;
}

/** Reads the context of an operation. */
export function readContext(context: object): ContentGraphContext {
  return { ...context };
}

/** What a subscription receives when events are lost. It continues. */
export const MISSED_EVENTS: ServiceError = {
  message: 'Events are lost. Query again.',
  extensions: { code: 'EVENT_HISTORY_EXPIRED' },
};
