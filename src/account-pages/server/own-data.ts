import { exportAccount } from '../../auth/account/stored-parts.ts';
import { readsOf } from '../../auth/look-up.ts';
import type { Principal } from '../../auth/principal.ts';
import type { FeatureServices, RouteServices } from '../../feature.ts';
import { ApiError } from '../../graphql/errors.ts';
import { STREAM_HEADERS } from '../../http/response/stream-formats.ts';
import { OperatorError } from '../../platform/operator-error.ts';
import { HttpResponse } from '../../request/http-message.ts';

/** What the core hands to the pages of accounts. */
export type AccountServices = FeatureServices & RouteServices;

const tooMany = () =>
  new ApiError('RATE_LIMITED', 'Another download of your data is under way. Try again when it is done.', {
    headers: { 'retry-after': '10' },
  });

/**
 * All that is stored about an account, as a file. An account has one at a time in this process, since each holds some rows
 * for as long as its reader takes.
 */
export function createOwnData({ database, stored, sessions, log }: AccountServices) {
  const running = new Set<string>();

  /** Ends with the session: what is stored later is not for whoever had it. */
  async function* whileSessionLasts(principal: Principal) {
    const { userId } = principal;
    for await (const piece of exportAccount(readsOf(database, userId), userId, stored)) {
      if ((await sessions.renew(principal)) === undefined) throw new OperatorError('The session has ended.');
      yield piece;
    }
  }

  /** A file that breaks off tells its reader; the log says why. */
  async function* piecesFor(principal: Principal, requestId: string) {
    const { userId } = principal;
    try {
      if (running.has(userId)) throw tooMany();
      running.add(userId);
      try {
        yield* whileSessionLasts(principal);
      } finally {
        running.delete(userId);
      }
    } catch (error) {
      log.warn({ requestId, err: error }, 'the file of an account broke off');
      throw error;
    }
  }

  /** The file for the owner of a session. Throws RATE_LIMITED. */
  return (principal: Principal, requestId: string): HttpResponse => {
    if (running.has(principal.userId)) throw tooMany();
    const headers = {
      ...STREAM_HEADERS,
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': 'attachment; filename="account.json"',
    };
    return new HttpResponse(piecesFor(principal, requestId), { headers });
  };
}
