import { print } from '@0no-co/graphql.web';
import type { ResultOf } from 'gql.tada';
import { type LiveState, openLive } from '../../../live.ts';
import { GRAPHQL_URL } from '../api/client.ts';
import { PostCreated, type PostSummary } from '../api/operations.ts';

const NEWS_MS = 8_000;

export interface FeedOptions {
  readonly userId: string;
  readonly onPost: (post: PostSummary) => void;
  /** Posts may be missing: query again. */
  readonly onGap: () => void;
  readonly onSignedOut: () => void;
  readonly onState: (feed: FeedState) => void;
}

export interface FeedState {
  readonly live: LiveState;
  /** When the next attempt begins, in milliseconds as of `Date.now()`. */
  readonly retryAtMs?: number;
  /** What happened last, shown for some seconds beside "live". */
  readonly news?: 'resumed' | 'gap';
}

/** New posts as they are written, over one stream for all tabs of this user. */
export function openFeed({ userId, onPost, onGap, onSignedOut, onState }: FeedOptions) {
  let hasBegun = false;
  let news: FeedState['news'];
  let timer: ReturnType<typeof setTimeout> | undefined;

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

  let latest: LiveState = { status: 'connecting' };
  const live = openLive<ResultOf<typeof PostCreated>>({
    url: GRAPHQL_URL,
    query: print(PostCreated),
    identity: userId,
    onEvent: ({ data }) => data?.postCreated && onPost(data.postCreated),
    onState(state) {
      latest = state;
      if (state.status === 'resumed' || state.status === 'gap') remember(state.status, state);
      // A list that was loaded before the first stream opened may lack the posts in between.
      if (state.status === 'gap' || (state.status === 'live' && !hasBegun)) onGap();
      if (state.status === 'live') hasBegun = true;
      if (state.status === 'reconnecting' && state.reason === 'unauthenticated') onSignedOut();
      tell(state);
    },
  });

  return {
    retry: live.retry,
    close() {
      clearTimeout(timer);
      live.close();
    },
  };
}

export type Feed = ReturnType<typeof openFeed>;
