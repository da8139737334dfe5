import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import { isIncluded } from './conditions.ts';

type Info = Pick<GraphQLResolveInfo, 'fragments' | 'variableValues'>;

/** Whether a fragment on this type applies to an object: it is its own type or an interface that it implements. */
const applies = (type: GraphQLObjectType, condition: string): boolean =>
  condition === type.name || type.getInterfaces().some(({ name }) => name === condition);

/**
 * The fields selected on an object, by response name, ordered and merged as by GraphQL's CollectFields
 * (section 6.3.2). The schema has no unions.
 */
export function collectFields(
  { fragments, variableValues: { coerced } }: Info,
  type: GraphQLObjectType,
  sets: readonly SelectionSetNode[],
): Map<string, FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  const visited = new Set<string>();
  const walk = ({ selections }: SelectionSetNode): void => {
    for (const selection of selections) {
      if (!isIncluded(selection.directives, coerced)) continue;
      if (selection.kind === Kind.FIELD) {
        const name = selection.alias?.value ?? selection.name.value;
        const known = fields.get(name);
        if (known === undefined) fields.set(name, [selection]);
        else known.push(selection);
      } else if (selection.kind === Kind.INLINE_FRAGMENT) {
        const { typeCondition } = selection;
        if (typeCondition === undefined || applies(type, typeCondition.name.value))
          walk(selection.selectionSet);
      } else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const fragment = fragments[selection.name.value];
        if (fragment !== undefined && applies(type, fragment.typeCondition.name.value))
          walk(fragment.selectionSet);
      }
    }
  };
  for (const set of sets) walk(set);
  return fields;
}
