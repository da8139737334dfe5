import { getArgumentValues } from 'graphql';
import type { Parameter } from '../../platform/db/statement.ts';
import type { Context } from '../context.ts';
import { isNodeList } from './nodes-sql.ts';
import type { EdgePlan } from './plan.ts';

type Variables = Readonly<Record<string, unknown>>;

/** What the rows of a root field are looked up by. */
export interface RootIds {
  /** The parameter of the statement; undefined if no id is valid, so that no row is named. */
  readonly parameter: Parameter | undefined;
  /** The number of ids of several nodes. */
  readonly count: number | undefined;
}

/** The ids of a root row or of nodes; undefined for other edges. Throws if an argument is invalid. */
export function rootIds(plan: EdgePlan, variables: Variables, context: Context): RootIds | undefined {
  const { edge, field, node } = plan;
  if (edge.kind === 'row')
    return { parameter: edge.id(getArgumentValues(field, node, variables), context), count: undefined };
  if (edge.kind !== 'by-id') return undefined;
  const ids = edge.ids(getArgumentValues(field, node, variables));
  const isNamed = ids.some((id) => id !== undefined);
  if (!isNodeList(plan)) return { parameter: ids[0], count: undefined };
  return { parameter: isNamed ? ids.map((id) => id ?? null) : undefined, count: ids.length };
}
