import type { Changes, StreamState } from 'content-graph-client';
import { html, nothing, type TemplateResult } from 'lit-html';
import type { Change } from '../api/operations.ts';
import { announce } from '../parts/announce.ts';
import { describeError } from '../parts/notice.ts';

const NEWS_MS = 8_000;

const REASONS = {
  leaderChange: 'Another tab was closed.',
  network: 'No connection.',
  unauthenticated: 'Not signed in.',
  rateLimited: 'Too many requests.',
  unavailable: 'The service is busy or restarting.',
} as const;

const LABELS = {
  idle: 'Connecting…',
  connecting: 'Connecting…',
  live: 'Live',
  reconnecting: 'Reconnecting',
  suspended: 'Asleep',
  closed: 'Not live',
} as const;

const NEWS = {
  opened: undefined,
  resumed: { shown: 'Back again, nothing was missed', spoken: 'Live again. Nothing was missed.' },
  missedEvents: {
    shown: 'Back again, everything was read again',
    spoken: 'Live again. Everything was read again.',
  },
} as const;

/** Says whether changes arrive by themselves, and if not, why and until when. */
export function watchLive(changes: Changes<Change>, retry: () => void, update: () => void) {
  let before: StreamState['status'] = 'idle';
  let isAway = false;
  /** What happened last, shown next to "live" for some seconds. */
  let news: (typeof NEWS)[keyof typeof NEWS];
  let timer: ReturnType<typeof setTimeout> | undefined;

  function showNews(next: typeof news): void {
    news = next;
    clearTimeout(timer);
    timer = setTimeout(() => {
      news = undefined;
      update();
    }, NEWS_MS);
    if (next !== undefined) announce(next.spoken);
  }

  const stop = changes.state.subscribe((state) => {
    const { status } = state;
    if (status === 'live' && (isAway || state.since === 'missedEvents')) showNews(NEWS[state.since]);
    if (status === 'reconnecting' && before !== status)
      announce(`The page is not live. ${REASONS[state.reason]}`);
    if (status === 'closed' && state.error !== undefined) announce('The page is no longer live.');
    if (status === 'live' || status === 'reconnecting') isAway = status === 'reconnecting';
    before = status;
    update();
  });

  function detail(state: StreamState): TemplateResult | string | typeof nothing {
    if (state.status === 'closed' && state.error !== undefined)
      return `${describeError(state.error)} Reload the page.`;
    if (state.status === 'reconnecting')
      return html`${REASONS[state.reason]} Next try in <count-down .until=${state.retryAtMs}></count-down>`;
    return (state.status === 'live' && news?.shown) || nothing;
  }

  return {
    render(): TemplateResult {
      const state = changes.state.current;
      // A wait that the service asks for cannot be cut short.
      const canHurry = state.status === 'reconnecting' && state.error?.retryAfterMs === undefined;
      return html`<div class="live" data-live=${state.status}>
        <span class="live-label"><span class="live-dot" aria-hidden="true"></span>${LABELS[state.status]}</span>
        <span class="live-detail">${detail(state)}</span>
        ${canHurry ? html`<button type="button" class="small" @click=${retry}>Try now</button>` : nothing}
      </div>`;
    },
    close(): void {
      clearTimeout(timer);
      stop();
    },
  };
}
