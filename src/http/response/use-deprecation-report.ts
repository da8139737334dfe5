import { isAuthenticated } from '../../auth/principal.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';

/** A metric has a line a client: so many are told apart. */
const MAX_CLIENTS = 1_000;

/**
 * Counts the use of what is deprecated, per client (contract section 7), so that who still needs it is known before it
 * goes. Each request's line in the log names it too.
 */
export function useDeprecationReport(metrics: Metrics): HttpPlugin {
  const uses = metrics.counter(
    'graphql_deprecated_uses_total',
    'Operations that use what is deprecated, by element of the schema and client.',
    ['element', 'client'],
  );
  const clients = new Set<string>();

  function nameOf({ caller }: RequestState): string {
    const client = caller !== undefined && isAuthenticated(caller) ? caller.clientId : 'anonymous';
    if (!clients.has(client) && clients.size >= MAX_CLIENTS) return 'others';
    clients.add(client);
    return client;
  }

  return {
    onResponse({ state }) {
      const { deprecated = [] } = state;
      if (deprecated.length === 0) return;
      const client = nameOf(state);
      for (const element of deprecated) uses.inc({ element, client });
    },
  };
}
