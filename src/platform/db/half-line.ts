import type { Config } from '../config.ts';
import { Line, type LineOptions } from '../line.ts';

type HalfLineOptions = Omit<LineOptions, 'places' | 'most' | 'mostAlone'>;

/**
 * PostgreSQL shows an event once every older transaction has ended. Five open transactions of one account tripled the
 * delay of everybody's events, because each of them gets a fifth of the time.
 */
const TRANSACTIONS_OF_OWNER = 3;

function sizes({ database }: Config): { readonly places: number; readonly most: number } {
  const connections = database.kind === 'postgres' ? database.poolSize : 1;
  const most = Math.max(1, Math.floor(connections / 2));
  return { places: Math.max(1, Math.min(most + 1, connections - 1)), most };
}

/**
 * Creates the queue of work that holds a database connection for long. While there are other owners, one owner has half
 * of the connections at most, and another owner finds one more. The other connections stay free for reads.
 */
export function halfLine(config: Config, options: HalfLineOptions = {}): Line {
  return new Line({ ...options, ...sizes(config) });
}

/** Creates the queue of mutation transactions. One owner never has more than three, and at most half of the connections. */
export function transactionLine(config: Config, options: HalfLineOptions = {}): Line {
  const { places, most: half } = sizes(config);
  const most = Math.min(TRANSACTIONS_OF_OWNER, half);
  return new Line({ ...options, places, most, mostAlone: most });
}
