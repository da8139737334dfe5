import { type GraphQLError, getArgumentValues, locatedError } from 'graphql';
import type { Logger } from '../../platform/log/log.ts';
import { maskError } from '../core/mask-error.ts';
import { hasPermissions, permissionsOf } from '../core/permissions.ts';
import { collectFields, variablesOf } from '../core/selection.ts';
import type {
  Execute,
  MutationFieldCall,
  MutationFieldEnd,
  OperationPlugin,
} from '../operation/lifecycle.ts';
import type { OperationArgs } from '../operation/operation-context.ts';
import type { SingleResult } from '../operation/outcome.ts';

/**
 * Returns the root fields that are about to run, in order. The execution rejects fields without permission, and with
 * invalid variables runs nothing.
 */
function collectCalls(args: OperationArgs) {
  const { schema, contextValue: context } = args;
  const { caller, operation, plans, requestId, sender } = context;
  const type = schema.getMutationType();
  const variables = variablesOf(args, operation.node);
  if (type == null || variables === undefined) return [];
  const fields = type.getFields();
  const selected = collectFields({ fragments: plans.fragments, variableValues: variables }, type, [
    operation.node.selectionSet,
  ]);
  return [...selected.values()].flatMap(([node]) => {
    const field = node && fields[node.name.value];
    if (field === undefined || node === undefined || !hasPermissions(caller, permissionsOf(field))) return [];
    const given = () => getArgumentValues(field, node, variables);
    const call: MutationFieldCall = { field: field.name, args: given, caller, requestId, sender };
    return [{ node, call }];
  });
}

/** A mutation is committed once the ids of the changed rows are known. */
function getMutationResult(
  outcome: SingleResult,
  { effects, sender }: OperationArgs['contextValue'],
): MutationFieldEnd['result'] {
  if (effects.headers['idempotency-replayed'] !== undefined) return 'replayed';
  if (sender.work.changes?.ids !== undefined) return 'committed';
  const errors = outcome.kind === 'executed' ? (outcome.result.errors ?? []) : outcome.errors;
  return errors.some(({ extensions }) => extensions.outcome === 'unknown') ? 'unknown' : 'rolled_back';
}

/**
 * Runs the stage `mutationField` of all plugins. A mutation that a plugin rejects runs none of its fields, but a stored
 * response is still replayed.
 */
export function withMutationFields(plugins: readonly OperationPlugin[], next: Execute, log: Logger): Execute {
  const hooks = plugins.flatMap(({ stages }) => stages.mutationField ?? []);
  if (hooks.length === 0) return next;
  const replays = plugins.flatMap(({ stages }) => stages.replay ?? []);

  async function replayed(args: OperationArgs): Promise<SingleResult | undefined> {
    for (const replay of replays) {
      const outcome = await replay(args);
      if (outcome !== undefined) return outcome;
    }
    return undefined;
  }

  return async (args) => {
    const { contextValue: context } = args;
    const { operation, requestId } = context;
    if (operation.kind !== 'mutation') return next(args);
    const startedMs = performance.now();
    const ends: ((end: MutationFieldEnd) => void)[] = [];
    let rejection: GraphQLError | undefined;
    for (const { call, node } of collectCalls(args))
      for (const hook of rejection === undefined ? hooks : []) {
        try {
          const end = await hook(call);
          if (end !== undefined) ends.push(end);
        } catch (error) {
          const path = [node.alias?.value ?? node.name.value];
          rejection = maskError(locatedError(error, node, path), { requestId, log });
          break;
        }
      }
    const outcome =
      rejection === undefined
        ? await next(args)
        : ((await replayed(args)) ?? { kind: 'executed', result: { data: null, errors: [rejection] } });
    const end = { result: getMutationResult(outcome, context), durationMs: performance.now() - startedMs };
    for (const tell of ends) {
      try {
        tell(end);
      } catch (error) {
        log.emit('plugins.mutation_failed', { err: error, requestId });
      }
    }
    return outcome;
  };
}
