import type { Logger } from '../../platform/log.ts';
import { jsonResponse } from '../error-response.ts';
import type { HttpPlugin } from '../request-state.ts';

export interface HealthOptions {
  readonly version: string;
  /** Why the service cannot take requests right now; undefined where it can. */
  readonly problem: () => Promise<string | undefined>;
  readonly log: Logger;
}

/** `/health/live`: the process answers. `/health/ready`: it can do its work, so a balancer may send it some. */
export function useHealth({ version, problem, log }: HealthOptions): HttpPlugin {
  return {
    async onRequest({ url, endResponse }) {
      if (url.pathname === '/health/live') return endResponse(jsonResponse({ status: 'ok', version }));
      if (url.pathname !== '/health/ready') return undefined;
      const reason = await problem().catch((error: unknown) => {
        log.warn({ err: error }, 'the database cannot be reached');
        return 'the database cannot be reached';
      });
      return endResponse(
        reason === undefined
          ? jsonResponse({ status: 'ok' })
          : jsonResponse({ status: 'unavailable', reason }, 503),
      );
    },
  };
}
