import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import { onlyLooksAtSchema } from '../documents/prepared-operation.ts';
import type { OperationArgs } from './operation-context.ts';
import { rendered, type SingleResult } from './outcome.ts';

/** Tools send the same few texts. A response has 128 KiB at most. */
const MAX_CACHED = 32;

/**
 * The responses to queries that only look at the schema, by their text: graphql-js builds one in one uninterruptible run
 * of milliseconds, and anybody may ask. Whoever asks gets the same. Comments and white space make no other text of it.
 */
export function createIntrospectionCache() {
  const known = new LRUCache<string, string>({ max: MAX_CACHED });

  /** Undefined if the response depends on more than the text. */
  function keyOf({ contextValue: { operation } }: OperationArgs): string | undefined {
    const hasVariables = (operation.node.variableDefinitions ?? []).length > 0;
    if (hasVariables || !onlyLooksAtSchema(operation)) return undefined;
    return `${operation.name ?? ''} ${operation.document.normalised}`;
  }

  return {
    /** The response to a query, from the cache or by executing it. Rejects with what `run` throws. */
    async respond(args: OperationArgs, run: () => Promise<SingleResult>): Promise<SingleResult> {
      const key = keyOf(args);
      if (key === undefined) return run();
      const tellsCost = args.contextValue.shownCost !== undefined;
      const found = known.get(key);
      if (found !== undefined) {
        if (!tellsCost) return rendered(found);
        // The cost is put beside the data where the response becomes text.
        const result: ExecutionResult = JSON.parse(found);
        return { kind: 'executed', result };
      }
      const outcome = await run();
      if (outcome.kind !== 'executed' || outcome.result.errors !== undefined) return outcome;
      const text = JSON.stringify({ data: outcome.result.data });
      known.set(key, text);
      return tellsCost ? outcome : rendered(text);
    },
  };
}
