/**
 * A node of a parsed document, in the form that all libraries use. It has the members of executable documents, so that
 * `DocumentNode` of each version of graphql-js is assignable without a dependency on one.
 */
export interface DocumentAstNode {
  readonly kind: string;
  readonly name?: DocumentAstNode | undefined;
  readonly alias?: DocumentAstNode | undefined;
  readonly operation?: string | undefined;
  readonly variableDefinitions?: readonly DocumentAstNode[] | undefined;
  readonly variable?: DocumentAstNode | undefined;
  readonly type?: DocumentAstNode | undefined;
  readonly defaultValue?: DocumentAstNode | undefined;
  readonly typeCondition?: DocumentAstNode | undefined;
  readonly directives?: readonly DocumentAstNode[] | undefined;
  readonly arguments?: readonly DocumentAstNode[] | undefined;
  readonly selectionSet?: DocumentAstNode | undefined;
  readonly selections?: readonly DocumentAstNode[] | undefined;
  readonly values?: readonly DocumentAstNode[] | undefined;
  readonly fields?: readonly DocumentAstNode[] | undefined;
  readonly definitions?: readonly DocumentAstNode[] | undefined;
  readonly value?: DocumentAstNode | string | boolean | undefined;
}

type Nodes = readonly DocumentAstNode[] | undefined;

const printAll = (nodes: Nodes): string => (nodes ?? []).map(printNode).join(' ');
const printList = (open: string, nodes: Nodes, close: string): string =>
  nodes === undefined || nodes.length === 0 ? '' : open + printAll(nodes) + close;
const printOptional = (prefix: string, node: DocumentAstNode | undefined, suffix = ''): string =>
  node === undefined ? '' : prefix + printNode(node) + suffix;

/** What stands before the name of a node. */
const PREFIXES: Readonly<Record<string, string>> = {
  Directive: '@',
  FragmentDefinition: 'fragment ',
  FragmentSpread: '...',
  InlineFragment: '...',
  Variable: '$',
};

/** Prints the parts that fields, fragments, operations, variables and directives have, in their common order. */
function printNamed(node: DocumentAstNode): string {
  const { kind, operation, alias, name, variableDefinitions, typeCondition, directives, selectionSet } = node;
  return [
    operation ?? PREFIXES[kind],
    printOptional('', alias, ':'),
    printOptional(operation === undefined ? '' : ' ', name),
    printList('(', variableDefinitions ?? node.arguments, ')'),
    printOptional(' on ', typeCondition),
    printList(' ', directives, ''),
    printOptional('', selectionSet),
  ].join('');
}

/** Prints a node on one line. The service ignores white space in a document. */
function printNode(node: DocumentAstNode): string {
  const { kind, name, type, value } = node;
  const scalar = typeof value === 'object' ? printNode(value) : String(value);
  switch (kind) {
    case 'Document':
      return printAll(node.definitions);
    case 'SelectionSet':
      return printList('{', node.selections, '}');
    case 'VariableDefinition':
      return `${printOptional('', node.variable)}:${printOptional('', type)}${printOptional('=', node.defaultValue)}${printList(' ', node.directives, '')}`;
    case 'Argument':
    case 'ObjectField':
      return `${printOptional('', name)}:${scalar}`;
    case 'NonNullType':
      return `${printOptional('', type)}!`;
    case 'ListType':
      return `[${printOptional('', type)}]`;
    case 'ListValue':
      return `[${printAll(node.values)}]`;
    case 'ObjectValue':
      return `{${printAll(node.fields)}}`;
    case 'NullValue':
      return 'null';
    case 'StringValue':
      // Every escape of a JSON string is an escape of GraphQL (GraphQL specification, section 2.9.4).
      return JSON.stringify(value);
    default:
      return value === undefined ? printNamed(node) : scalar;
  }
}

/** Prints an executable document as a query string. */
export function printDocument(document: DocumentAstNode): string {
  return printNode(document);
}
