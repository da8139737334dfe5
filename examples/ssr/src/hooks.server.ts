import type { Handle } from '@sveltejs/kit/hooks';
import { createClient, createForwardedOptions } from 'content-graph-client';

const API_ORIGIN = process.env.API_ORIGIN ?? 'http://localhost:4000';

/**
 * A link on another site leads here without the session cookie, which is SameSite=Strict. This page leads to the same URL,
 * as a link of this site does, so the browser sends the cookie.
 */
const CONTINUE = '<!doctype html><meta http-equiv="refresh" content="0"><title>One moment</title>';

function isFromAnotherSite({ method, headers }: Request): boolean {
  return (
    method === 'GET' &&
    headers.get('sec-fetch-site') === 'cross-site' &&
    headers.get('sec-fetch-dest') === 'document'
  );
}

export const handle: Handle = async ({ event, resolve }) => {
  const { request, url } = event;
  const cookies: string[] = [];
  event.locals.client = createClient({
    url: `${API_ORIGIN}/graphql`,
    ...createForwardedOptions(request, {
      clientAddress: event.getClientAddress(),
      protocol: url.protocol === 'https:' ? 'https' : 'http',
    }),
    async fetch(input, init) {
      const response = await fetch(input, init);
      cookies.push(...response.headers.getSetCookie());
      return response;
    },
  });
  const response = isFromAnotherSite(request)
    ? new Response(CONTINUE, { headers: { 'content-type': 'text/html' } })
    : await resolve(event);
  // The service sets the cookie at sign-in, and clears it when the session has expired.
  for (const cookie of cookies) response.headers.append('set-cookie', cookie);
  response.headers.set('cache-control', 'private, no-store');
  return response;
};
