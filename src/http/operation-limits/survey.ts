import {
  type DirectiveNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLSchema,
  getEnterLeaveForKind,
  Kind,
  MaxIntrospectionDepthRule,
  type SelectionNode,
  type SelectionSetNode,
  TypeInfo,
  ValidationContext,
} from 'graphql';
import { countOverlaps, type Overlaps } from './overlaps.ts';

/** Arguments whose variables decide what an operation costs: the sizes of lists, and what `@skip`s. */
const SIZING_ARGUMENTS = new Set(['limit', 'first', 'if']);

/** What is worth knowing of a document once, whichever of its operations runs. */
export interface Survey extends Overlaps {
  readonly sizingVariables: readonly string[];
  /** A fragment that comes back to itself: validation would say so as well, later and at a greater cost. */
  readonly circle: GraphQLError | undefined;
  readonly introspectionTooDeep: boolean;
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** GraphQL section 5.5.2.2, "Fragment spreads must not form cycles". */
function findCircle(fragments: Fragments): GraphQLError | undefined {
  const states = new Map<string, 'open' | 'done'>();
  function visit(node: SelectionNode | FragmentDefinitionNode): GraphQLError | undefined {
    if (node.kind === Kind.FRAGMENT_SPREAD) {
      const name = node.name.value;
      const fragment = fragments.get(name);
      if (fragment === undefined || states.get(name) === 'done') return undefined;
      if (states.get(name) === 'open') {
        return new GraphQLError(`Cannot spread fragment "${name}" within itself.`, {
          nodes: node,
          extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
        });
      }
      states.set(name, 'open');
      const found = visit(fragment);
      states.set(name, 'done');
      return found;
    }
    for (const selection of node.selectionSet?.selections ?? []) {
      const found = visit(selection);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  for (const fragment of fragments.values()) {
    if (states.has(fragment.name.value)) continue;
    states.set(fragment.name.value, 'open');
    const found = visit(fragment);
    if (found !== undefined) return found;
    states.set(fragment.name.value, 'done');
  }
  return undefined;
}

/** graphql-js' own rule, on the fields it looks at and no others: a validation of the whole takes several times as long. */
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

/** Looks a document over in one pass. graphql-js' own visitor takes several times as long. */
export function surveyDocument(schema: GraphQLSchema, document: DocumentNode, maxFields: number): Survey {
  const introspections: FieldNode[] = [];
  const sizing = new Set<string>();
  const fragments = new Map<string, FragmentDefinitionNode>();

  function lookAtArguments(args: DirectiveNode['arguments'] = []): void {
    for (const { name, value } of args)
      if (value.kind === Kind.VARIABLE && SIZING_ARGUMENTS.has(name.value)) sizing.add(value.name.value);
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

  const circle = findCircle(fragments);
  const overlaps =
    circle === undefined ? countOverlaps(document, fragments, maxFields) : { fields: 0, overlaps: 0 };
  const introspectionTooDeep = goesTooDeep(schema, document, introspections);
  return { sizingVariables: [...sizing], circle, introspectionTooDeep, ...overlaps };
}
