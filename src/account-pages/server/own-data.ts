import { exportAccount } from '../../auth/account/export.ts';
import type { StoredPart } from '../../auth/account/stored-part.ts';
import type { Queryable } from '../../platform/db/statement.ts';
import type { Logger } from '../../platform/log.ts';
import { DownloadResponse } from '../../request/http-message.ts';

export interface OwnDataOptions {
  readonly db: Queryable;
  readonly stored: readonly StoredPart[];
  readonly requestId: string;
  readonly log: Logger;
}

/** A file that breaks off tells its reader; the log says why. */
async function* logged(pieces: AsyncIterable<string>, { requestId, log }: OwnDataOptions) {
  try {
    yield* pieces;
  } catch (error) {
    log.warn({ requestId, err: error }, 'the file of an account broke off');
    throw error;
  }
}

/** All that is stored about an account, as a file. Throws AccountError, DatabaseError. */
export async function ownData(email: string, options: OwnDataOptions): Promise<DownloadResponse> {
  const { db, stored } = options;
  const pieces = await exportAccount(db, email, stored);
  return new DownloadResponse(logged(pieces, options), {
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="account.json"',
  });
}
