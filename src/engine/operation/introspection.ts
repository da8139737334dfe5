import type { ExecutionResult } from 'graphql';
import { LRUCache } from 'lru-cache';
import { onlyLooksAtSchema } from '../documents/prepared-operation.ts';
import type { OperationArgs } from './operation-context.ts';
import { rendered, type SingleResult } from './outcome.ts';

/** Tools send few different documents. A response has at most 128 KiB. */
const MAX_CACHED = 32;

/**
 * graphql-js computes the response to a query of introspection fields in one uninterruptible run of milliseconds, and
 * unauthenticated clients may request it. The response does not depend on the caller, on comments or on white space.
 */
export function createIntrospectionCache() {
  const known = new LRUCache<string, string>({ max: MAX_CACHED });

  /** Returns undefined if the response depends on more than the document. */
  function getCacheKey({ contextValue: { operation } }: OperationArgs): string | undefined {
    const hasVariables = (operation.node.variableDefinitions ?? []).length > 0;
    if (hasVariables || !onlyLooksAtSchema(operation)) return undefined;
    return `${operation.name ?? ''} ${operation.document.normalised}`;
  }

  return {
    async respond(args: OperationArgs, run: () => Promise<SingleResult>): Promise<SingleResult> {
      const key = getCacheKey(args);
      if (key === undefined) return run();
      const tellsCost = args.contextValue.shownCost !== undefined;
      const found = known.get(key);
      if (found !== undefined) {
        if (!tellsCost) return rendered(found);
        // The cost is added to the data when the response is serialized, so this response cannot stay a string.
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
