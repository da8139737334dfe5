import type { ClientUsage } from '../../auth/client-usage.ts';
import { clientIdOf } from '../../auth/principal.ts';
import type { DeprecatedUsage } from '../../engine/documents/deprecated-usage.ts';
import { deprecationHeaders } from '../../engine/documents/deprecations.ts';
import type { Metrics } from '../../platform/metrics/metrics.ts';
import type { FinishedRequest } from '../exchange.ts';
import type { ServicePlugin } from '../lifecycle.ts';

/** Monitoring requests do not count as use of the service. */
export const useClientUsage = (uses: Pick<ClientUsage, 'note'>): ServicePlugin => ({
  name: 'client-use',
  stages: {
    finish(_request, _response, { route, caller, clientAddress, operation, work }) {
      const { databaseMs } = work;
      if (!route.probe)
        uses.note({ caller, clientAddress, complexity: operation?.complexity ?? 0, databaseMs });
    },
  },
});

/** The metric names at most this many clients and counts the rest as "others". */
const MAX_CLIENTS = 1_000;

/**
 * Tells clients which deprecated elements they use, and counts the uses by client (contract: deprecation). The
 * database has the counts for the report, and a metric has them for alerts. The access log names the elements, too.
 */
export function useDeprecations(deprecated: Pick<DeprecatedUsage, 'note'>, metrics: Metrics): ServicePlugin {
  const uses = metrics.counter(
    'content_graph_graphql_deprecated_usage_total',
    'Operations that use deprecated elements.',
    ['element', 'client'],
  );
  const clients = new Set<string>();

  function nameOf(caller: FinishedRequest['caller']): string {
    const client = clientIdOf({ caller }) ?? 'anonymous';
    if (!clients.has(client) && clients.size >= MAX_CLIENTS) return 'others';
    clients.add(client);
    return client;
  }

  return {
    name: 'deprecations',
    stages: {
      respond(_request, { headers }, { caller, operation }) {
        if (operation === undefined || operation.deprecated.length === 0) return;
        const { deprecated: used, published, isCheckOnly } = operation;
        for (const [name, value] of Object.entries(deprecationHeaders(used))) headers.set(name, value);
        // A checked operation counts when its stream opens.
        if (isCheckOnly) return;
        deprecated.note(caller, published, used);
        const client = nameOf(caller);
        for (const { element } of used) uses.inc({ element, client });
      },
    },
  };
}
