import {
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
} from 'graphql';
import type { DeprecatedElement } from '../request/deprecated-element.ts';

/** Adds the deprecated elements in the value of a variable, as it was sent: it may be anything. */
export type FindInValue = (value: unknown, found: Set<DeprecatedElement>) => void;

/** The types of inputs that have something deprecated in them, however deep. */
function typesWith(schema: GraphQLSchema, deprecated: ReadonlyMap<string, DeprecatedElement>) {
  const types = Object.values(schema.getTypeMap());
  const has = (type: GraphQLNamedType, member: string) => deprecated.has(`${type.name}.${member}`);
  const affected = new Set<GraphQLNamedType>(
    types.filter(
      (type) =>
        (isEnumType(type) && type.getValues().some(({ name }) => has(type, name))) ||
        (isInputObjectType(type) && Object.keys(type.getFields()).some((name) => has(type, name))),
    ),
  );
  // Input types may be recursive, so this goes on until nothing is added.
  for (let size = -1; size < affected.size; ) {
    size = affected.size;
    for (const type of types)
      if (
        isInputObjectType(type) &&
        Object.values(type.getFields()).some((field) => affected.has(getNamedType(field.type)))
      )
        affected.add(type);
  }
  return affected;
}

/** Returns what looks through values of a type; undefined where there is nothing to find. */
export function deprecatedInputs(
  schema: GraphQLSchema,
  deprecated: ReadonlyMap<string, DeprecatedElement>,
): (type: GraphQLInputType) => FindInValue | undefined {
  const affected = typesWith(schema, deprecated);

  function look(type: GraphQLNamedType, value: unknown, found: Set<DeprecatedElement>): void {
    if (Array.isArray(value)) {
      for (const item of value) look(type, item, found);
      return;
    }
    const note = (member: string) => {
      const element = deprecated.get(`${type.name}.${member}`);
      if (element !== undefined) found.add(element);
    };
    if (typeof value === 'string' && isEnumType(type)) note(value);
    if (typeof value !== 'object' || value === null || !isInputObjectType(type)) return;
    const fields = type.getFields();
    for (const [name, member] of Object.entries(value)) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field === undefined) continue;
      note(name);
      const of = getNamedType(field.type);
      if (affected.has(of)) look(of, member, found);
    }
  }

  return (type) => {
    const named = getNamedType(type);
    return affected.has(named) ? (value, found) => look(named, value, found) : undefined;
  };
}
