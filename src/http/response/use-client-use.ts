import type { ClientUses } from '../../client-use/client-uses.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Counts each request as its client's, but for those by which the service is watched. */
export const useClientUse = (uses: Pick<ClientUses, 'note'>): HttpPlugin => ({
  onResponse(_request, _response, state) {
    if (!state.route.probe) uses.note(state);
  },
});
