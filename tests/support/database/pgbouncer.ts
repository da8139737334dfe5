import { onTestFinished } from 'vitest';
import {
  type Afterwards,
  type PgBouncerSettings,
  startPgBouncer,
} from '../../../scripts/cluster/pgbouncer.ts';

/** PgBouncer before the PostgreSQL at `url` for as long as the test runs, or as `afterwards` says. */
export const pgbouncer = (
  url: string,
  afterwards: Afterwards = onTestFinished,
  settings?: PgBouncerSettings,
): Promise<string> => startPgBouncer(url, afterwards, settings);
