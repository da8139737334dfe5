import type { Metrics } from '../../platform/metrics.ts';
import { clientIdOf } from '../../request/caller.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Limits the metric to this many clients. The rest count as "others". */
const MAX_CLIENTS = 1_000;

/**
 * Counts uses of deprecated elements per client (contract section 7), to show who still needs them before
 * they are removed. The access log names them too.
 */
export function useDeprecationReport(metrics: Metrics): HttpPlugin {
  const uses = metrics.counter(
    'graphql_deprecated_uses_total',
    'Operations that use deprecated schema elements, by element and client.',
    ['element', 'client'],
  );
  const clients = new Set<string>();

  function nameOf(state: RequestState): string {
    const client = clientIdOf(state) ?? 'anonymous';
    if (!clients.has(client) && clients.size >= MAX_CLIENTS) return 'others';
    clients.add(client);
    return client;
  }

  return {
    onResponse(_request, _response, state) {
      const { deprecated = [] } = state;
      if (deprecated.length === 0) return;
      const client = nameOf(state);
      for (const element of deprecated) uses.inc({ element, client });
    },
  };
}
