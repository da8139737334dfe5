import { BY_KEYS } from './by-keys.ts';
import { BY_SESSION } from './by-session.ts';
import { BY_STRANGERS } from './by-strangers.ts';
import { BY_STREAMS } from './by-streams.ts';
import type { Move } from './sending.ts';

/** All that an attacker does, by name. */
const MOVES = new Map<string, Move>(
  Object.entries({ ...BY_KEYS, ...BY_STREAMS, ...BY_SESSION, ...BY_STRANGERS }),
);

export const NAMES = [...MOVES.keys()] as [string, ...string[]];

/** A move by its name. Throws if there is none: a mix that does nothing would look splendid. */
export function moveOf(name: string): Move {
  const move = MOVES.get(name);
  if (move === undefined) throw new Error(`There is no "${name}". There are:\n${NAMES.join('\n')}`);
  return move;
}
