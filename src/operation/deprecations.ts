import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';

interface Deprecable {
  readonly deprecationReason?: string | null | undefined;
}

const isDeprecated = (element: Deprecable | null | undefined): boolean => element?.deprecationReason != null;

function hasDeprecated(schema: GraphQLSchema): boolean {
  const fields = Object.values(schema.getTypeMap()).flatMap((type): Deprecable[] => {
    if (isEnumType(type)) return [...type.getValues()];
    if (isInputObjectType(type)) return Object.values(type.getFields());
    if (!isObjectType(type) && !isInterfaceType(type)) return [];
    return Object.values(type.getFields()).flatMap((field) => [field, ...field.args]);
  });
  return fields.some(isDeprecated);
}

/** Collects schema coordinates as the GraphQL specification writes them (section 3.14). */
function collector(types: TypeInfo, found: Set<string>): ASTVisitor {
  return {
    Field() {
      const field = types.getFieldDef();
      if (isDeprecated(field)) found.add(`${types.getParentType()?.name}.${field?.name}`);
    },
    Argument() {
      const argument = types.getArgument();
      if (types.getDirective() == null && isDeprecated(argument))
        found.add(`${types.getParentType()?.name}.${types.getFieldDef()?.name}(${argument?.name}:)`);
    },
    EnumValue({ value }) {
      if (isDeprecated(types.getEnumValue())) found.add(`${types.getInputType()?.toString()}.${value}`);
    },
  };
}

const NOTHING: readonly string[] = [];

/** Returns the deprecated schema elements that an operation uses (contract section 7). */
export type Deprecations = (document: DocumentNode, operation: OperationDefinitionNode) => readonly string[];

/** Checks once whether the schema deprecates anything at all. */
export function createDeprecations(schema: GraphQLSchema): Deprecations {
  if (!hasDeprecated(schema)) return () => NOTHING;
  return (document, operation) => {
    const found = new Set<string>();
    const types = new TypeInfo(schema);
    const own = separateOperations(document)[operation.name?.value ?? ''];
    if (own !== undefined) visit(own, visitWithTypeInfo(types, collector(types, found)));
    return [...found];
  };
}
