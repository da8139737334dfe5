import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isInterfaceType,
  isObjectType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type DeprecatedElement, deprecatedElement } from '../request/deprecated-element.ts';
import { deprecatedInputs, type FindInValue } from './deprecated-inputs.ts';

interface Deprecable {
  readonly deprecationReason?: string | null | undefined;
}

/** All that can be deprecated, by schema coordinates: fields, arguments, input fields and enum values. */
export function deprecableElements(schema: GraphQLSchema): ReadonlyMap<string, Deprecable> {
  const found = new Map<string, Deprecable>();
  const note = (element: string, of: Deprecable) => found.set(element, of);
  for (const type of Object.values(schema.getTypeMap())) {
    if (isEnumType(type)) for (const value of type.getValues()) note(`${type.name}.${value.name}`, value);
    if (isInputObjectType(type))
      for (const field of Object.values(type.getFields())) note(`${type.name}.${field.name}`, field);
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      note(`${type.name}.${field.name}`, field);
      for (const arg of field.args) note(`${type.name}.${field.name}(${arg.name}:)`, arg);
    }
  }
  return found;
}

/** All that a schema deprecates, by schema coordinates. */
export function deprecatedElements(schema: GraphQLSchema): ReadonlyMap<string, DeprecatedElement> {
  const found = new Map<string, DeprecatedElement>();
  for (const [element, { deprecationReason }] of deprecableElements(schema))
    if (deprecationReason != null) found.set(element, deprecatedElement(element, deprecationReason));
  return found;
}

/** Which deprecated elements an operation uses. */
export interface DeprecatedUse {
  /** Those that its text names. */
  readonly named: readonly DeprecatedElement[];
  /** Finds those in the values of its variables; undefined if no value can have any. */
  readonly inVariables: FindInValue | undefined;
}

/** Finds the deprecated elements of an operation of a valid document (contract section 7). */
export type Deprecations = (document: DocumentNode, operation: OperationDefinitionNode) => DeprecatedUse;

const nameOf = (type: GraphQLInputType | null | undefined): string | undefined =>
  type == null ? undefined : getNamedType(type).name;

const NONE: DeprecatedUse = { named: [], inVariables: undefined };

/** Looks once whether the schema deprecates anything at all. */
export function createDeprecations(schema: GraphQLSchema): Deprecations {
  const deprecated = deprecatedElements(schema);
  if (deprecated.size === 0) return () => NONE;
  const finderOf = deprecatedInputs(schema, deprecated);

  function collector(types: TypeInfo, found: Set<DeprecatedElement>): ASTVisitor {
    const note = (coordinate: string) => {
      const element = deprecated.get(coordinate);
      if (element !== undefined) found.add(element);
    };
    const fieldOf = () => `${types.getParentType()?.name}.${types.getFieldDef()?.name}`;
    return {
      Field: () => note(fieldOf()),
      Argument({ name }) {
        if (types.getDirective() == null) note(`${fieldOf()}(${name.value}:)`);
      },
      ObjectField: ({ name }) => note(`${nameOf(types.getParentInputType())}.${name.value}`),
      EnumValue: ({ value }) => note(`${nameOf(types.getInputType())}.${value}`),
    };
  }

  /** By the names of variables whose values can have something deprecated in them. */
  function findInVariables({ variableDefinitions = [] }: OperationDefinitionNode): FindInValue | undefined {
    const finders = variableDefinitions.flatMap(({ variable, type }) => {
      const given = typeFromAST(schema, type);
      const find = isInputType(given) ? finderOf(given) : undefined;
      return find === undefined ? [] : { name: variable.name.value, find };
    });
    if (finders.length === 0) return undefined;
    return (variables, found) => {
      const values = new Map(Object.entries(variables ?? {}));
      for (const { name, find } of finders) find(values.get(name), found);
    };
  }

  return (document, operation) => {
    const own = separateOperations(document)[operation.name?.value ?? ''];
    if (own === undefined) return NONE;
    const found = new Set<DeprecatedElement>();
    const types = new TypeInfo(schema);
    visit(own, visitWithTypeInfo(types, collector(types, found)));
    return { named: [...found], inVariables: findInVariables(operation) };
  };
}
