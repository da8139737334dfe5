import { onTestFinished } from 'vitest';
import { type Afterwards, startPgBouncer } from '../../../scripts/cluster/pgbouncer.ts';

/** PgBouncer before the PostgreSQL at `url` for as long as the test runs, or as `afterwards` says. */
export const pgbouncer = (url: string, afterwards: Afterwards = onTestFinished): Promise<string> =>
  startPgBouncer(url, afterwards);
