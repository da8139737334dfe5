import type { Logger } from '../../platform/log.ts';
import { howToAllow, type Origins } from '../../request/origin-check.ts';
import type { HttpPlugin } from '../plugin.ts';

/** Limits the memory of what has been reported. */
const MAX_REPORTED = 100;

/**
 * For development: logs each origin once whose pages cannot read the responses. The browser tells only the console
 * of the page, and there not why.
 */
export function useOriginReport({ isKnown }: Pick<Origins, 'isKnown'>, log: Logger): HttpPlugin {
  const reported = new Set<string>();
  return {
    onResponse(request, _response, { route }) {
      if (route.documentOnly) return;
      const origin = request.headers.get('origin');
      if (origin === null || reported.has(origin) || reported.size >= MAX_REPORTED) return;
      if (isKnown(origin, request.url) || origin === new URL(request.url).origin) return;
      reported.add(origin);
      log.warn({ origin }, `a page of another origin cannot read the responses. ${howToAllow(origin)}`);
    },
  };
}
