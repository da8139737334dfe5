import {
  DirectiveLocation,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLInterfaceType,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
  type OperationTypeNode,
} from 'graphql';

/** A field: its type, its arguments, and the object type or interface that its selection is on. */
export interface FieldShape {
  readonly name: string;
  /** As GraphQL writes it. */
  readonly type: string;
  readonly args: ReadonlyMap<string, GraphQLArgument>;
  /** How many of the arguments must be given. */
  readonly required: number;
  /** Undefined for a leaf. */
  readonly object: ObjectShape | undefined;
}

/** An object type or an interface. */
export interface ObjectShape {
  readonly name: string;
  /** What else a fragment may be on here: the interfaces of an object, the objects of an interface. */
  readonly related: ReadonlySet<string>;
  /** Maps, not objects: clients choose the names that are looked up, `__proto__` among them. */
  readonly fields: ReadonlyMap<string, FieldShape>;
}

/** What the acceptor knows of a schema. */
export interface SchemaTable {
  readonly root: (operation: OperationTypeNode) => ObjectShape | undefined;
  readonly type: (name: string) => ObjectShape | undefined;
  /** The type of the argument `if` of @skip and @include. */
  readonly condition: GraphQLInputType;
}

const TYPENAME: FieldShape = {
  name: '__typename',
  type: 'String!',
  args: new Map(),
  required: 0,
  object: undefined,
};

/** The type of `if`; undefined unless the directive is as GraphQL defines it (sections 3.13.1, 3.13.2). */
function conditionOf(schema: GraphQLSchema, name: 'skip' | 'include'): GraphQLInputType | undefined {
  const { args = [], locations = [], isRepeatable } = schema.getDirective(name) ?? {};
  const [argument] = args;
  const isStandard = args.length === 1 && argument?.name === 'if' && String(argument.type) === 'Boolean!';
  const { FIELD, FRAGMENT_SPREAD, INLINE_FRAGMENT } = DirectiveLocation;
  const everywhere = [FIELD, FRAGMENT_SPREAD, INLINE_FRAGMENT].every((place) => locations.includes(place));
  return isStandard && everywhere && !isRepeatable ? argument.type : undefined;
}

function relatedTo(schema: GraphQLSchema, type: GraphQLObjectType | GraphQLInterfaceType): Set<string> {
  const types = isObjectType(type) ? type.getInterfaces() : schema.getPossibleTypes(type);
  return new Set(types.map(({ name }) => name));
}

/**
 * The fields and arguments of object types and interfaces, without introspection. Undefined for a schema with
 * unions, or with other conditions than GraphQL's.
 */
export function createSchemaTable(schema: GraphQLSchema): SchemaTable | undefined {
  const types = Object.values(schema.getTypeMap());
  const skip = conditionOf(schema, 'skip');
  const include = conditionOf(schema, 'include');
  if (skip === undefined || include === undefined || types.some(isUnionType)) return undefined;
  const shapes = new Map<string, ObjectShape & { readonly fields: Map<string, FieldShape> }>();
  for (const type of types)
    if ((isObjectType(type) || isInterfaceType(type)) && !isIntrospectionType(type))
      shapes.set(type.name, { name: type.name, related: relatedTo(schema, type), fields: new Map() });

  const shapeOf = ({ name, type, args }: GraphQLField<unknown, unknown>): FieldShape => ({
    name,
    type: String(type),
    args: new Map(args.map((argument) => [argument.name, argument])),
    required: args.filter(isRequiredArgument).length,
    object: shapes.get(getNamedType(type).name),
  });

  const subscription = schema.getSubscriptionType();
  for (const type of types) {
    const fields = shapes.get(type.name)?.fields;
    if (fields === undefined || !(isObjectType(type) || isInterfaceType(type))) continue;
    for (const field of Object.values(type.getFields())) fields.set(field.name, shapeOf(field));
    // The root of a subscription has no meta fields (GraphQL section 5.2.4.1).
    if (type !== subscription) fields.set('__typename', TYPENAME);
  }
  return {
    root: (operation) => shapes.get(schema.getRootType(operation)?.name ?? ''),
    type: (name) => shapes.get(name),
    condition: skip,
  };
}
