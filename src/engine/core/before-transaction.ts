import { type ExecutionArgs, getArgumentValues, type OperationDefinitionNode } from 'graphql';
import type { Passwords } from '../../auth/login.ts';
import type { Caller } from '../../auth/principal.ts';
import type { Queryable } from '../../database/statement.ts';
import { ApiError } from '../../platform/errors.ts';
import { collectFields, type Fragments, NO_VARIABLES, variablesOf } from './selection.ts';

export interface PreparationContext {
  readonly caller: Caller;
  readonly db: Queryable;
  /** Failed attempts and concurrent checks of passwords are limited. */
  readonly passwords: Passwords;
  readonly onWrongPassword: () => void;
}

/**
 * Runs before the unit of work of a mutation begins, because a unit of work waits for nothing but the database
 * (decisions/0014-lock-ordering.md). The field's resolver gets the result from `preparedOf`.
 */
export type Prepare = (args: Record<string, unknown>, context: PreparationContext) => Promise<unknown>;

type Prepared = { readonly result: unknown } | { readonly error: unknown };
/** Results by field name, because an operation may select each of these fields only once. */
export type Preparations = ReadonlyMap<string, Prepared>;

const NOTHING: Preparations = new Map();

/** @throws the error of `prepare`, because the error belongs to the field */
export function preparedOf(
  { prepared = NOTHING }: { readonly prepared?: Preparations },
  field: string,
): unknown {
  const outcome = prepared.get(field);
  if (outcome === undefined) throw new Error(`${field} has not been prepared`);
  if ('error' in outcome) throw outcome.error;
  return outcome.result;
}

/** @throws {ApiError} BAD_USER_INPUT if a field with `prepare` is selected twice */
export async function runBeforeTransaction(
  args: ExecutionArgs,
  operation: OperationDefinitionNode,
  fragments: Fragments,
  context: PreparationContext,
): Promise<Preparations> {
  const type = args.schema.getMutationType();
  const fields = type?.getFields() ?? {};
  if (type == null || !Object.values(fields).some(({ extensions }) => extensions.prepare !== undefined))
    return NOTHING;
  const values = variablesOf(args, operation) ?? NO_VARIABLES;
  const wanted = new Map<string, () => Promise<unknown>>();
  for (const [node] of collectFields({ fragments, variableValues: values }, type, [
    operation.selectionSet,
  ]).values()) {
    const field = node && fields[node.name.value];
    const prepare = field?.extensions.prepare as Prepare | undefined;
    if (node === undefined || field === undefined || prepare === undefined) continue;
    if (wanted.has(field.name))
      throw new ApiError(
        'BAD_USER_INPUT',
        `Field "${field.name}" can be selected only once in an operation. Send one request for each.`,
      );
    wanted.set(field.name, async () => prepare(getArgumentValues(field, node, values), context));
  }
  const prepared = new Map<string, Prepared>();
  for (const [name, prepare] of wanted) {
    try {
      prepared.set(name, { result: await prepare() });
    } catch (error) {
      prepared.set(name, { error });
    }
  }
  return prepared;
}
