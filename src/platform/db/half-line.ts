import type { Config } from '../config.ts';
import { Line, type LineOptions } from '../line.ts';

/**
 * A line for work that holds a database connection for long: transactions, events. One owner has half of the connections
 * at most, so that the others stay free for reads; if all of that is taken there is one more, for somebody else.
 */
export function halfLine({ database }: Config, options: Omit<LineOptions, 'places' | 'most'> = {}): Line {
  const connections = database.kind === 'postgres' ? database.poolSize : 1;
  const most = Math.max(1, Math.floor(connections / 2));
  return new Line({ ...options, places: Math.max(1, Math.min(most + 1, connections - 1)), most });
}
