import type { Config } from '../config.ts';
import { Line, type LineOptions } from '../line.ts';

/**
 * A line for work that holds a database connection for long: transactions, events. While there are other owners, one has
 * half of the connections at most, and one more is left for another owner. The rest stays free for reads.
 */
export function halfLine({ database }: Config, options: Omit<LineOptions, 'places' | 'most'> = {}): Line {
  const connections = database.kind === 'postgres' ? database.poolSize : 1;
  const most = Math.max(1, Math.floor(connections / 2));
  return new Line({ ...options, places: Math.max(1, Math.min(most + 1, connections - 1)), most });
}
