import type { ClientOptions } from './client.ts';

/** The visitor's request, as far as it is passed on. */
export interface ForwardedRequest {
  readonly headers: { get(name: string): string | null };
}

/** What the framework knows about the visitor. */
export interface ForwardingOptions {
  /** The IP address of the visitor. Without it, all visitors share the rate limits of the rendering server. */
  readonly clientAddress?: string | undefined;
  /** The protocol of the visitor's request: `https` by default. */
  readonly protocol?: 'http' | 'https' | undefined;
}

/** Fields that the service uses to check where a request comes from, and to describe a session. */
const COPIED_FIELDS = ['origin', 'sec-fetch-site', 'user-agent'];

const SESSION_COOKIE = /(?:^|;\s*)(session_id=[^;]*)/;

/**
 * Creates the options of a client that renders one page for one visitor, with the visitor's session. Create a client for
 * each request: a shared client would mix accounts. Of the cookies, only the session cookie is passed on.
 */
export function createForwardedOptions(
  { headers }: ForwardedRequest,
  { clientAddress, protocol = 'https' }: ForwardingOptions = {},
): Pick<ClientOptions, 'headers' | 'storage' | 'retry'> {
  const fields: Record<string, string> = { 'x-forwarded-proto': protocol };
  for (const name of COPIED_FIELDS) {
    const value = headers.get(name);
    if (value !== null) fields[name] = value;
  }
  const [, cookie] = SESSION_COOKIE.exec(headers.get('cookie') ?? '') ?? [];
  if (cookie !== undefined) fields.cookie = cookie;
  if (clientAddress !== undefined) fields['x-forwarded-for'] = clientAddress;
  // A visitor waits for the page, so it is rendered soon or not at all.
  const retry = { queryBudgetMs: 2_000, mutationBudgetMs: 5_000, attemptTimeoutMs: 3_000 };
  return { headers: fields, storage: null, retry };
}
