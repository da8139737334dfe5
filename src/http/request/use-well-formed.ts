import type { Logger } from '../../platform/log.ts';
import type { HttpPlugin } from '../plugin.ts';
import { errorResponse } from '../response/error-response.ts';

/** Refuses requests with an ambiguous address, before any route looks at them. */
export function useWellFormed(log: Logger): HttpPlugin {
  return {
    onRequest({ state, endResponse }) {
      if (state.malformed !== undefined) endResponse(errorResponse(state.malformed, state, log));
    },
  };
}
