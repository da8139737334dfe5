import type { Logger } from '../../platform/log.ts';
import type { HttpPlugin } from '../plugin.ts';
import { errorResponse } from '../response/error-response.ts';

/** Refuses what has no address that can be trusted to mean one thing, before any route looks at it. */
export function useWellFormed(log: Logger): HttpPlugin {
  return {
    onRequest({ state, endResponse }) {
      if (state.malformed !== undefined) endResponse(errorResponse(state.malformed, state, log));
    },
  };
}
