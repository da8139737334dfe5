import {
  buildASTSchema,
  type DefinitionNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
} from 'graphql';

interface Element {
  readonly name: { readonly value: string };
  readonly directives?: readonly { readonly name: { readonly value: string } }[] | undefined;
}

/** Whether an element goes, by its schema coordinate. */
type Goes = (coordinate: string, element: Element) => boolean;

const isDeprecated: Goes = (_coordinate, { directives = [] }) =>
  directives.some(({ name }) => name.value === 'deprecated');

/** A definition of a type without some of its elements. */
function without(definition: DefinitionNode, goes: Goes): DefinitionNode {
  const of = 'name' in definition ? (definition.name?.value ?? '') : '';
  const kept = <T extends Element>(elements: readonly T[] = []): T[] =>
    elements.filter((element) => !goes(`${of}.${element.name.value}`, element));
  switch (definition.kind) {
    case Kind.ENUM_TYPE_DEFINITION:
      return { ...definition, values: kept(definition.values) };
    case Kind.INPUT_OBJECT_TYPE_DEFINITION:
      return { ...definition, fields: kept(definition.fields) };
    case Kind.OBJECT_TYPE_DEFINITION:
    case Kind.INTERFACE_TYPE_DEFINITION: {
      const fields = kept(definition.fields).map((field) => ({
        ...field,
        arguments: field.arguments?.filter(
          (argument) => !goes(`${of}.${field.name.value}(${argument.name.value}:)`, argument),
        ),
      }));
      return { ...definition, fields };
    }
    default:
      return definition;
  }
}

/** The types that a client can come across, from the roots on. */
function reachable(schema: GraphQLSchema): ReadonlySet<GraphQLNamedType> {
  const found = new Set<GraphQLNamedType>();
  function reach(type: GraphQLNamedType | null | undefined): void {
    if (type == null || found.has(type)) return;
    found.add(type);
    if (isUnionType(type)) for (const member of type.getTypes()) reach(member);
    if (isInterfaceType(type)) {
      const { objects, interfaces } = schema.getImplementations(type);
      for (const one of [...objects, ...interfaces]) reach(one);
    }
    if (isInputObjectType(type))
      for (const field of Object.values(type.getFields())) reach(getNamedType(field.type));
    if (!isObjectType(type) && !isInterfaceType(type)) return;
    for (const one of type.getInterfaces()) reach(one);
    for (const field of Object.values(type.getFields())) {
      reach(getNamedType(field.type));
      for (const arg of field.args) reach(getNamedType(arg.type));
    }
  }
  reach(schema.getQueryType());
  reach(schema.getMutationType());
  reach(schema.getSubscriptionType());
  for (const { args } of schema.getDirectives()) for (const arg of args) reach(getNamedType(arg.type));
  return found;
}

/**
 * A schema in SDL without the elements that go, by default all that it deprecates, and without the types that only those lead to.
 * Throws if nothing is left.
 */
export function withoutElements(text: string, goes: Goes = isDeprecated): GraphQLSchema {
  const kept = parse(text).definitions.map((definition) => without(definition, goes));
  const found = reachable(
    buildASTSchema({ kind: Kind.DOCUMENT, definitions: kept }, { assumeValidSDL: true }),
  );
  const names = new Set([...found].map(({ name }) => name));
  const definitions = kept.filter(
    (definition) =>
      !('name' in definition) ||
      definition.name === undefined ||
      definition.kind === Kind.DIRECTIVE_DEFINITION ||
      names.has(definition.name.value),
  );
  return buildASTSchema({ kind: Kind.DOCUMENT, definitions });
}

/** The content of `schema.without-deprecated.graphql`. */
export const printedWithoutDeprecated = (text: string): string =>
  `${printSchema(lexicographicSortSchema(withoutElements(text)))}\n`;
