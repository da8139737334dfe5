import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';

export interface DeprecatedElement {
  /** The schema coordinate of the element. */
  readonly element: string;
  readonly reason: string;
  /** The days of deprecation and removal, if the reason names them. */
  readonly since: string | null;
  readonly until: string | null;
}

function dayAfter(word: 'since' | 'until', reason: string): string | null {
  const [, day] = new RegExp(`\\b${word} (\\d{4}-\\d{2}-\\d{2})(?!\\d)`, 'i').exec(reason) ?? [];
  const date = new Date(`${day}T00:00:00Z`);
  return day !== undefined && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day)
    ? day
    : null;
}

/** Reads dates in a reason such as "Use `text`, since 2026-12-01, until 2027-06-01." */
const deprecatedElement = (element: string, reason: string): DeprecatedElement => ({
  element,
  reason,
  since: dayAfter('since', reason),
  until: dayAfter('until', reason),
});

function earliest(days: readonly (string | null)[]): Date | undefined {
  const [first] = days.filter((day) => day !== null).sort();
  return first === undefined ? undefined : new Date(`${first}T00:00:00Z`);
}

export function deprecationHeaders(used: readonly DeprecatedElement[]): Record<string, string> {
  const since = earliest(used.map((element) => element.since));
  const until = earliest(used.map((element) => element.until));
  return {
    // Deprecation is a structured date (RFC 9745).
    ...(since === undefined ? {} : { deprecation: `@${since.getTime() / 1_000}` }),
    // Sunset is an HTTP date (RFC 8594).
    ...(until === undefined ? {} : { sunset: until.toUTCString() }),
  };
}

interface Deprecable {
  readonly deprecationReason?: string | null | undefined;
}

/** Contains fields, arguments, input fields and enum values by schema coordinate. */
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

export function deprecatedElements(schema: GraphQLSchema): ReadonlyMap<string, DeprecatedElement> {
  const found = new Map<string, DeprecatedElement>();
  for (const [element, { deprecationReason }] of deprecableElements(schema))
    if (deprecationReason != null) found.set(element, deprecatedElement(element, deprecationReason));
  return found;
}

export interface DeprecatedElements {
  readonly named: readonly DeprecatedElement[];
  /** Undefined if no variable can have a deprecated value. The values are as sent, and may be of any type. */
  readonly inVariables: ((variables: object | undefined, found: Set<DeprecatedElement>) => void) | undefined;
}

/** The document must be valid. */
export type Deprecations = (document: DocumentNode, operation: OperationDefinitionNode) => DeprecatedElements;

const NONE: DeprecatedElements = { named: [], inVariables: undefined };

export function createDeprecations(schema: GraphQLSchema): Deprecations {
  const deprecated = deprecatedElements(schema);
  if (deprecated.size === 0) return () => NONE;
  const isInput = (coordinate: string) => {
    const type = schema.getType(coordinate.split('.')[0] ?? '');
    return isEnumType(type) || isInputObjectType(type);
  };
  const hasDeprecatedInputs = [...deprecated.keys()].some(isInput);

  function note(coordinate: string, found: Set<DeprecatedElement>): void {
    const element = deprecated.get(coordinate);
    if (element !== undefined) found.add(element);
  }

  function collector(types: TypeInfo, found: Set<DeprecatedElement>): ASTVisitor {
    const getFieldCoordinate = () => `${types.getParentType()?.name}.${types.getFieldDef()?.name}`;
    const getTypeName = (type: GraphQLInputType | null | undefined) => getNamedType(type)?.name;
    return {
      Field: () => note(getFieldCoordinate(), found),
      Argument({ name }) {
        if (types.getDirective() == null) note(`${getFieldCoordinate()}(${name.value}:)`, found);
      },
      ObjectField: ({ name }) => note(`${getTypeName(types.getParentInputType())}.${name.value}`, found),
      EnumValue: ({ value }) => note(`${getTypeName(types.getInputType())}.${value}`, found),
    };
  }

  function search(type: GraphQLNamedType, value: unknown, found: Set<DeprecatedElement>): void {
    if (Array.isArray(value)) for (const item of value) search(type, item, found);
    else if (isEnumType(type)) {
      // The variables may be invalid.
      if (typeof value === 'string') note(`${type.name}.${value}`, found);
    } else if (isInputObjectType(type) && typeof value === 'object' && value !== null) {
      const fields = type.getFields();
      for (const [name, member] of Object.entries(value)) {
        const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
        note(`${type.name}.${name}`, found);
        if (field !== undefined) search(getNamedType(field.type), member, found);
      }
    }
  }

  function findInVariables({
    variableDefinitions = [],
  }: OperationDefinitionNode): DeprecatedElements['inVariables'] {
    const searched = variableDefinitions.flatMap(({ variable, type }) => {
      const named = getNamedType(typeFromAST(schema, type));
      return isEnumType(named) || isInputObjectType(named) ? { name: variable.name.value, type: named } : [];
    });
    if (!hasDeprecatedInputs || searched.length === 0) return undefined;
    return (variables, found) => {
      const values = new Map(Object.entries(variables ?? {}));
      for (const { name, type } of searched) search(type, values.get(name), found);
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
