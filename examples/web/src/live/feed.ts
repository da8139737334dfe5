import { print } from '@0no-co/graphql.web';
import { type Changes, type LiveState, openChanges } from '../../../live.ts';
import { GRAPHQL_URL } from '../api/client.ts';
import { type Change, ChangesSubscription } from '../api/operations.ts';
import { tellReachable } from '../api/reachable.ts';

const NEWS_MS = 8_000;

export interface FeedOptions {
  readonly userId: string;
  readonly onSignedOut: () => void;
  readonly onState: (feed: FeedState) => void;
}

export interface FeedState {
  readonly live: LiveState;
  /** When the next attempt begins, in milliseconds as of `Date.now()`. */
  readonly retryAtMs?: number;
  /** What happened last, shown for some seconds beside "live". */
  readonly news?: 'resumed' | 'missedEvents';
}

export interface Feed {
  readonly changes: Changes<Change>;
  close(): void;
}

/** What others change, over one stream for all tabs of this user. */
export function openFeed({ userId, onSignedOut, onState }: FeedOptions): Feed {
  let news: FeedState['news'];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest: LiveState = { status: 'connecting' };

  function tell(live: LiveState): void {
    const waits = live.status === 'reconnecting' ? { retryAtMs: Date.now() + live.waitMs } : {};
    onState({ live, ...waits, ...(news === undefined ? {} : { news }) });
  }

  function remember(what: FeedState['news'], live: LiveState): void {
    news = what;
    clearTimeout(timer);
    timer = setTimeout(() => {
      news = undefined;
      if (latest.status === live.status || latest.status === 'live') tell(latest);
    }, NEWS_MS);
  }

  const changes = openChanges<Change>({
    url: GRAPHQL_URL,
    query: print(ChangesSubscription),
    identity: userId,
    onState(state) {
      latest = state;
      if (state.status === 'live') tellReachable();
      if (state.status === 'resumed' || state.status === 'missedEvents') remember(state.status, state);
      // It says so itself.
      if (state.status === 'reconnecting' && state.reason === 'unauthenticated') onSignedOut();
      else tell(state);
    },
  });

  return {
    changes,
    close() {
      clearTimeout(timer);
      changes.close();
    },
  };
}
