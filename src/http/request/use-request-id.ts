import { randomUUID } from 'node:crypto';
import type { HttpPlugin } from '../plugin.ts';

/** What of a client's own id is kept (contract section 2). */
const ACCEPTABLE = /^[\x20-\x7e]{1,128}$/;

/** Gives every request an id, the client's own where it sent a usable one, and puts it on every response. */
export function useRequestId(): HttpPlugin {
  return {
    onRequest({ request, state }) {
      const sent = request.headers.get('x-request-id');
      state.requestId = sent !== null && ACCEPTABLE.test(sent) ? sent : randomUUID();
    },
    onResponse({ response, state }) {
      // A preflight is answered before any plugin of ours runs.
      state.requestId ||= randomUUID();
      response.headers.set('x-request-id', state.requestId);
    },
  };
}
