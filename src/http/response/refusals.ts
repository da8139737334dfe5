import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { clientOf, reportedClient } from '../../request/caller.ts';
import type { RequestState } from '../../request/request-state.ts';

/** The log lines of requests that are refused because there are too many, or because their address is blocked. */
export interface Refusals {
  /** Whether the request has a line of its own: the first refusal of its client in a minute has. The others are counted. */
  hasLine(state: RequestState, status: number): boolean;
  /** Logs what is counted so far, and stops. */
  close(): void;
}

const MINUTE_MS = 60_000;
/** In a minute. Those beyond count as one. */
const MAX_CLIENTS = 1_000;
const OTHERS = 'other';
const TOO_MANY_REQUESTS = 429;
/** How many clients the metric names. */
const MAX_REPORTED = 100;

/** At the end of a minute, one line for each client has the number of its further refusals. */
export function createRefusals(log: Logger, metrics: Metrics): Refusals {
  const refusals = metrics.tally(
    'client_refusals_total',
    'Requests refused with 429 or as of a blocked address, by client: the id of a key or application, or the kind of credentials; after 100 clients, "other".',
    ['client'],
  );
  refusals.add('anonymous', '', 0);
  const reported = new Set<string>();
  let counted = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  function endMinute(): void {
    clearTimeout(timer);
    timer = undefined;
    const refused = counted;
    counted = new Map();
    for (const [client, more] of refused)
      if (more > 0) log.warn({ client, more }, 'further requests of a client refused within a minute');
  }

  function count({ caller }: RequestState): void {
    const { client } = reportedClient(caller);
    if (reported.size < MAX_REPORTED) reported.add(client);
    refusals.add(reported.has(client) ? client : OTHERS);
  }

  return {
    hasLine(state, status) {
      if (status !== TOO_MANY_REQUESTS && !state.blocked) return true;
      count(state);
      timer ??= setTimeout(endMinute, MINUTE_MS).unref();
      const own = clientOf(state);
      const client = counted.has(own) || counted.size < MAX_CLIENTS ? own : OTHERS;
      const known = counted.get(client);
      counted.set(client, known === undefined ? 0 : known + 1);
      return known === undefined;
    },
    close: endMinute,
  };
}
