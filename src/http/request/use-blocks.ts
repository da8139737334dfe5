import { addressBlocked } from '../../graphql/errors.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { RequestState } from '../../request/request-state.ts';
import type { Restrictions } from '../../restrictions/restrictions.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Refuses the requests of blocked addresses, before their credentials are looked at. */
export function useBlocks(
  restrictions: Pick<Restrictions, 'blocks' | 'loading'>,
  metrics: Metrics,
): HttpPlugin {
  const refused = metrics.counter(
    'blocked_requests_total',
    'Requests of blocked addresses, refused with 403.',
  );
  function check(state: RequestState): void {
    if (!restrictions.blocks(state)) return;
    state.blocked = true;
    refused.inc();
    throw addressBlocked();
  }
  return {
    onRequest(_request, state) {
      if (state.route.probe) return undefined;
      if (restrictions.loading === undefined) return check(state);
      return restrictions.loading.then(() => check(state));
    },
  };
}
