import { LOCK_ACCOUNT } from '../../auth/account/store.ts';
import { principalOf } from '../../graphql/context.ts';
import type { LockKind, NamedRow } from '../../graphql/row-locks.ts';

/** An operation that ends several keys, sessions or grants locks their account first. */
const ACCOUNT: LockKind = {
  rank: 2,
  async take(work, _rows, context) {
    await work.query(LOCK_ACCOUNT, [principalOf(context).userId]);
  },
};

/** The lock of the caller's own account. */
export const ownAccount = (): readonly NamedRow[] => [{ kind: ACCOUNT, id: 'own' }];
