import { type ASTNode, type DocumentNode, Kind, type NameNode, print, visit } from 'graphql';

/** New names in the order in which old ones are met: `prefix` and a number. */
function renames(prefix: string): (name: NameNode) => NameNode {
  const given = new Map<string, string>();
  return (name) => {
    const known = given.get(name.value) ?? `${prefix}${given.size + 1}`;
    given.set(name.value, known);
    return { ...name, value: known };
  };
}

/**
 * A valid document as text, without anything that a client chose freely: no names of operations, aliases or comments;
 * variables and fragments are numbered; numbers are 0, strings are empty. What remains are the words of the schema.
 * On one line, so that equal shapes are equal texts.
 */
export function shapeOf(document: DocumentNode): string {
  const variable = renames('v');
  const fragment = renames('F');
  const shape: ASTNode = visit(document, {
    [Kind.OPERATION_DEFINITION]: (node) => ({ ...node, name: undefined }),
    [Kind.FIELD]: (node) => ({ ...node, alias: undefined }),
    [Kind.VARIABLE]: (node) => ({ ...node, name: variable(node.name) }),
    [Kind.FRAGMENT_SPREAD]: (node) => ({ ...node, name: fragment(node.name) }),
    [Kind.FRAGMENT_DEFINITION]: (node) => ({ ...node, name: fragment(node.name) }),
    [Kind.INT]: (node) => ({ ...node, value: '0' }),
    [Kind.FLOAT]: (node) => ({ ...node, value: '0' }),
    [Kind.STRING]: (node) => ({ ...node, value: '', block: false }),
  });
  return print(shape).replaceAll(/\s+/g, ' ');
}
