import type { RawResponse } from '../../support/keyed.ts';
import { type Circumstances, explain, type Sent } from './model.ts';
import type { State } from './state.ts';

const MOST_FOUND = 96;

/** The states after requests that were sent at once, in every order in which the responses let them have been done. */
export function explainAll(
  states: readonly State[],
  sent: readonly Sent[],
  responses: readonly RawResponse[],
  circumstances: Omit<Circumstances, 'before'>,
): State[] {
  const found: State[] = [];
  for (const before of states) {
    const go = (state: State, left: readonly number[]) => {
      if (found.length >= MOST_FOUND) return;
      if (left.length === 0) found.push(state);
      for (const index of left) {
        const [one, response] = [sent[index], responses[index]];
        if (one === undefined || response === undefined) continue;
        const others = left.filter((other) => other !== index);
        for (const after of explain(state, one, response, { ...circumstances, before })) go(after, others);
      }
    };
    go(before, [...sent.keys()]);
  }
  return found;
}
