import {
  buildASTSchema,
  type DocumentNode,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isUnionType,
  lexicographicSortSchema,
  parse,
  printSchema,
  visit,
} from 'graphql';

interface Deprecable {
  readonly directives?: readonly { readonly name: { readonly value: string } }[] | undefined;
}

const isDeprecated = ({ directives = [] }: Deprecable): boolean =>
  directives.some(({ name }) => name.value === 'deprecated');

const drop = (node: Deprecable) => (isDeprecated(node) ? null : undefined);

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

/** A schema as it will be once all that it deprecates is gone, with the types that only that leads to. Throws if none is left. */
export function withoutDeprecated(text: string): GraphQLSchema {
  const document = parse(text);
  const kept: DocumentNode = visit(document, {
    FieldDefinition: { enter: drop },
    InputValueDefinition: { enter: drop },
    EnumValueDefinition: { enter: drop },
  });
  const found = reachable(buildASTSchema(kept, { assumeValidSDL: true }));
  const names = new Set([...found].map(({ name }) => name));
  const definitions = kept.definitions.filter(
    (definition) =>
      !('name' in definition) ||
      definition.name === undefined ||
      definition.kind === 'DirectiveDefinition' ||
      names.has(definition.name.value),
  );
  return buildASTSchema({ ...kept, definitions });
}

/** The content of `schema.without-deprecated.graphql`. */
export const printedWithoutDeprecated = (text: string): string =>
  `${printSchema(lexicographicSortSchema(withoutDeprecated(text)))}\n`;
