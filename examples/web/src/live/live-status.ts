import { html, nothing, type TemplateResult } from 'lit-html';
import type { ConnectionError, LiveState } from '../../../live.ts';
import { type Problem, strange } from '../api/problem.ts';
import type { FeedState } from './feed.ts';

const REASONS = {
  leaderChange: 'Another tab was closed.',
  network: 'No connection.',
  unauthenticated: 'Not signed in.',
  'rate-limited': 'Too many requests.',
  unavailable: 'The service is busy or restarting.',
} as const;

const MAIN_LABELS = {
  connecting: 'Connecting…',
  live: 'Live',
  resumed: 'Live',
  missedEvents: 'Live',
  reconnecting: 'Reconnecting',
  closed: 'Not live',
} as const;

function detailOf({ live, news, retryAtMs }: FeedState): TemplateResult | string | typeof nothing {
  if (live.status === 'closed') {
    const ended =
      live.httpStatus === undefined ? 'The service ended the subscription.' : strange(live.httpStatus);
    return live.errors[0]?.message ?? `${ended} Reload the page.`;
  }
  if (live.status === 'reconnecting')
    return html`${REASONS[live.reason]} Next try in <count-down .until=${retryAtMs ?? Date.now()}></count-down>`;
  if (news === 'resumed') return 'Back again, nothing was missed';
  return news === 'missedEvents' ? 'Back again, all was read anew' : nothing;
}

/** A wait that the service asks for cannot be cut short. */
const canHurry = (live: LiveState) => live.status === 'reconnecting' && live.reason !== 'rate-limited';

/** Whether changes arrive by themselves, and if not, why and until when. */
export function liveStatus(feed: FeedState, retry: () => void): TemplateResult {
  const { status } = feed.live;
  return html`<div class="live" data-live=${status}>
    <span class="live-label"><span class="live-dot" aria-hidden="true"></span>${MAIN_LABELS[status]}</span>
    <span class="live-detail">${detailOf(feed)}</span>
    ${canHurry(feed.live) ? html`<button type="button" class="small" @click=${retry}>Try now</button>` : nothing}
  </div>`;
}

/** What a screen reader says of a change; undefined if it need not say anything. */
export function spokenChange(before: LiveState['status'], { live, news }: FeedState): string | undefined {
  if (live.status === before) return undefined;
  if (live.status === 'reconnecting') return `The page is not live. ${REASONS[live.reason]}`;
  if (live.status === 'closed') return 'The page is no longer live.';
  if (live.status !== 'live' || news === undefined) return undefined;
  return news === 'resumed' ? 'Live again. Nothing was missed.' : 'Live again. All was read anew.';
}

const KINDS = {
  leaderChange: 'unanswered',
  network: 'unanswered',
  unauthenticated: 'signed-out',
  'rate-limited': 'rate-limited',
  unavailable: 'unavailable',
} as const;

/** Why a list could not be read, in words for a person. */
export function problemOfList(connectionError: ConnectionError): Problem {
  if (connectionError.status === 'closed')
    return {
      kind: 'unexpected',
      message: connectionError.errors[0]?.message ?? strange(connectionError.httpStatus),
    };
  const { reason, waitMs } = connectionError;
  const message = reason === 'network' ? 'The service does not answer.' : REASONS[reason];
  return { kind: KINDS[reason], message, retryAtMs: Date.now() + waitMs };
}
