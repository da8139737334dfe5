import { extendSchema, type GraphQLSchema, isObjectType, parse } from 'graphql';
import { buildSchema } from '../../../src/schema/schema.ts';

/** Reasons as a schema has them. */
export const REASONS = {
  body: 'Use `text`, since 2026-10-01, until 2027-06-01.',
  tag: 'Use `tags`, since 2026-09-15.',
  old: 'Use NEW, since 2026-10-05, until 2027-03-01.',
  label: 'Use `tag`.',
} as const;

const MORE = parse(`
  enum Order { NEW OLD @deprecated(reason: "${REASONS.old}") }
  input Choice { tag: String order: Order label: String @deprecated(reason: "${REASONS.label}") others: [Choice!] }
  extend type Query { chosen(choice: Choice, orders: [Order!]): Int }
`);

/**
 * The schema of the service on the day after some of it was deprecated: `Post.body` and an argument of `posts`, and, of
 * what it has in addition, a field of an input and a value of an enum.
 */
export function deprecatingSchema(): GraphQLSchema {
  const schema = extendSchema(buildSchema(), MORE);
  const fieldsOf = (name: string) => {
    const type = schema.getType(name);
    if (!isObjectType(type)) throw new Error(`${name} is no object type`);
    return type.getFields();
  };
  const { posts, chosen } = fieldsOf('Query');
  const { body } = fieldsOf('Post');
  Object.assign(body ?? {}, { deprecationReason: REASONS.body });
  Object.assign(posts?.args.find(({ name }) => name === 'tag') ?? {}, { deprecationReason: REASONS.tag });
  Object.assign(chosen ?? {}, { resolve: () => 1 });
  return schema;
}
