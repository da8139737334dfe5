import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getEnterLeaveForKind,
  Kind,
  MaxIntrospectionDepthRule,
  type SelectionSetNode,
  TypeInfo,
  ValidationContext,
} from 'graphql';
import { countedArguments } from '../../graphql/counted-argument.ts';
import { countOverlaps, type Overlaps } from './overlaps.ts';
import { SIZE_ARGUMENTS } from './strip-skipped.ts';

/** Whether the variables of an argument affect the cost: list sizes, and the `if` of `@skip` and `@include`. */
const isSizing = (schema: GraphQLSchema, name: string): boolean =>
  name === 'if' || SIZE_ARGUMENTS.has(name) || countedArguments(schema).has(name);

/** Figures of a document that apply to all of its operations. */
export interface DocumentStatistics extends Overlaps {
  readonly sizingVariables: readonly string[];
  readonly introspectionTooDeep: boolean;
}

/**
 * Runs graphql-js' own rule on the introspection fields only: a full validation takes several times as long.
 */
function goesTooDeep(schema: GraphQLSchema, document: DocumentNode, roots: readonly FieldNode[]): boolean {
  if (roots.length === 0) return false;
  let tooDeep = false;
  const context = new ValidationContext(schema, document, new TypeInfo(schema), () => {
    tooDeep = true;
  });
  const visitor = MaxIntrospectionDepthRule(context);
  const { enter } = getEnterLeaveForKind(visitor, Kind.FIELD);
  for (const root of roots) enter?.call(visitor, root, undefined, undefined, [], []);
  return tooDeep;
}

/** Surveys a document in one pass. graphql-js' own visitor takes several times as long. */
export function surveyDocument(
  schema: GraphQLSchema,
  document: DocumentNode,
  maxFields: number,
): DocumentStatistics {
  const introspections: FieldNode[] = [];
  const sizing = new Set<string>();
  const fragments = new Map<string, FragmentDefinitionNode>();

  function lookAtArguments(args: DirectiveNode['arguments'] = []): void {
    for (const { name, value } of args)
      if (value.kind === Kind.VARIABLE && isSizing(schema, name.value)) sizing.add(value.name.value);
  }

  function lookAtDirectives(nodes: readonly DirectiveNode[] = []): void {
    for (const node of nodes) lookAtArguments(node.arguments);
  }

  function lookAt({ selections }: SelectionSetNode): void {
    for (const node of selections) {
      lookAtDirectives(node.directives);
      if (node.kind === Kind.FRAGMENT_SPREAD) continue;
      if (node.kind === Kind.FIELD) {
        if (node.name.value === '__schema' || node.name.value === '__type') introspections.push(node);
        lookAtArguments(node.arguments);
      }
      if (node.selectionSet !== undefined) lookAt(node.selectionSet);
    }
  }

  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition);
    else if (definition.kind !== Kind.OPERATION_DEFINITION) continue;
    lookAt(definition.selectionSet);
  }

  const overlaps = countOverlaps(document, fragments, maxFields);
  const introspectionTooDeep = goesTooDeep(schema, document, introspections);
  return { sizingVariables: [...sizing], introspectionTooDeep, ...overlaps };
}
