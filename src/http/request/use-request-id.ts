import { randomUUID } from 'node:crypto';
import type { HttpPlugin } from '../plugin.ts';

/** The client ids that are accepted (contract section 2). */
const ACCEPTABLE = /^[\x20-\x7e]{1,128}$/;

/** Gives every request an id, the client's own if it is acceptable, and sets it on every response. */
export function useRequestId(): HttpPlugin {
  return {
    onRequest({ request, state }) {
      const sent = request.headers.get('x-request-id');
      state.requestId = sent !== null && ACCEPTABLE.test(sent) ? sent : randomUUID();
    },
    onResponse({ response, state }) {
      // Preflights are answered before our onRequest hooks run.
      state.requestId ||= randomUUID();
      response.headers.set('x-request-id', state.requestId);
    },
  };
}
