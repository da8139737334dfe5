import { ApiError } from '../graphql/errors.ts';

/** What a subscription's request says of heartbeats. */
interface HeartbeatRequest {
  readonly url: string;
  /** The `extensions` of the body. */
  readonly extensions: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Whether heartbeats are to be events, for clients that cannot see comment lines. The address, where a stream token stands,
 * wins. Throws BAD_REQUEST for anything else than "visible".
 */
export function asksForVisibleHeartbeats({ url, extensions }: HeartbeatRequest): boolean {
  const asked = new URL(url).searchParams.get('heartbeat') ?? extensions?.heartbeat;
  if (asked == null) return false;
  if (asked === 'visible') return true;
  throw new ApiError('BAD_REQUEST', '"heartbeat" must be "visible".', { status: 400 });
}
