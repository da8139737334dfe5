import {
  __Directive,
  __DirectiveLocation,
  __Schema,
  DirectiveLocation,
  GraphQLDeprecatedDirective,
  type GraphQLEnumValue,
} from 'graphql';

/** Locations that graphql-js 17 tries out and the specification of September 2025 (section 3.13) does not have. */
const EXPERIMENTAL = new Set<DirectiveLocation>([
  DirectiveLocation.FRAGMENT_VARIABLE_DEFINITION,
  DirectiveLocation.DIRECTIVE_DEFINITION,
]);

const isSpecified = (location: DirectiveLocation): boolean => !EXPERIMENTAL.has(location);

/**
 * Removes the experiments of graphql-js 17 from introspection. graphql-core up to 3.2.10 rejects a schema with a directive
 * location that it does not know. All schemas of a process share these objects, and graphql-js has no option for them.
 */
export function removeIntrospectionExperiments(): void {
  GraphQLDeprecatedDirective.locations = GraphQLDeprecatedDirective.locations.filter(isSpecified);
  const values = __DirectiveLocation.getValues() as GraphQLEnumValue[];
  values.splice(0, values.length, ...values.filter(({ value }) => isSpecified(value)));
  const { directives } = __Schema.getFields();
  if (directives !== undefined) directives.args = [];
  const fields = __Directive.getFields();
  delete fields.isDeprecated;
  delete fields.deprecationReason;
}
