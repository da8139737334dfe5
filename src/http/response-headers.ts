import { type HttpPlugin, pathOf } from './request-state.ts';

/** Answers that are the caller's own: no cache may keep them (contract section 2). */
const PRIVATE_PATH = /^\/(graphql|login|logout|oauth)(\/|$)/;

/** Headers that every response carries, and those that the plugins before have asked for. */
export function useResponseHeaders(): HttpPlugin {
  return {
    onResponse({ request, response: { headers }, serverContext: { state } }) {
      if (PRIVATE_PATH.test(pathOf(request.url)) && !headers.has('etag'))
        headers.set('cache-control', 'no-store');
      headers.set('x-content-type-options', 'nosniff');
      for (const name in state.responseHeaders) headers.set(name, state.responseHeaders[name] as string);
    },
  };
}
