import type { Database } from '../platform/db/database.ts';
import type { UnitOfWork } from '../platform/db/unit-of-work.ts';

/** Makes a change in one transaction: all of it or, if it throws, nothing. */
export async function inTransaction<T>(
  database: Database,
  change: (work: UnitOfWork) => Promise<T>,
): Promise<T> {
  const work = database.unitOfWork();
  try {
    const result = await change(work);
    await work.commit();
    return result;
  } catch (error) {
    await work.rollback();
    throw error;
  }
}
