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

const printAll = (nodes: Nodes, separator: string): string => (nodes ?? []).map(printNode).join(separator);
const printList = (open: string, nodes: Nodes, close: string): string =>
  nodes === undefined || nodes.length === 0 ? '' : open + printAll(nodes, ' ') + close;
const printOptional = (prefix: string, node: DocumentAstNode | undefined): string =>
  node === undefined ? '' : prefix + printNode(node);
const printDirectives = (node: DocumentAstNode): string => printList(' ', node.directives, '');

function printOperation(node: DocumentAstNode): string {
  const head =
    printOptional(' ', node.name) + printList('(', node.variableDefinitions, ')') + printDirectives(node);
  return (node.operation ?? 'query') + head + printOptional('', node.selectionSet);
}

/** Prints a node on one line. The service ignores white space in a document. */
function printNode(node: DocumentAstNode): string {
  const { kind, name, value } = node;
  const scalar = typeof value === 'object' ? printNode(value) : String(value);
  switch (kind) {
    case 'Document':
      return printAll(node.definitions, ' ');
    case 'OperationDefinition':
      return printOperation(node);
    case 'FragmentDefinition':
      return `fragment${printOptional(' ', name)}${printOptional(' on ', node.typeCondition)}${printDirectives(node)}${printOptional('', node.selectionSet)}`;
    case 'SelectionSet':
      return printList('{', node.selections, '}');
    case 'Field': {
      const alias = node.alias === undefined ? '' : `${printNode(node.alias)}:`;
      return `${alias}${printOptional('', name)}${printList('(', node.arguments, ')')}${printDirectives(node)}${printOptional('', node.selectionSet)}`;
    }
    case 'FragmentSpread':
      return `...${printOptional('', name)}${printDirectives(node)}`;
    case 'InlineFragment':
      return `...${printOptional('on ', node.typeCondition)}${printDirectives(node)}${printOptional('', node.selectionSet)}`;
    case 'VariableDefinition':
      return `${printOptional('', node.variable)}:${printOptional('', node.type)}${printOptional('=', node.defaultValue)}${printDirectives(node)}`;
    case 'Variable':
      return `$${printOptional('', name)}`;
    case 'Directive':
      return `@${printOptional('', name)}${printList('(', node.arguments, ')')}`;
    case 'Argument':
    case 'ObjectField':
      return `${printOptional('', name)}:${scalar}`;
    case 'NamedType':
      return printOptional('', name);
    case 'NonNullType':
      return `${printOptional('', node.type)}!`;
    case 'ListType':
      return `[${printOptional('', node.type)}]`;
    case 'ListValue':
      return `[${printAll(node.values, ' ')}]`;
    case 'ObjectValue':
      return `{${printAll(node.fields, ' ')}}`;
    case 'NullValue':
      return 'null';
    case 'StringValue':
      // Every escape of a JSON string is an escape of GraphQL (GraphQL specification, section 2.9.4).
      return JSON.stringify(value);
    default:
      return scalar;
  }
}

/** Prints an executable document as a query string. */
export function printDocument(document: DocumentAstNode): string {
  return printNode(document);
}
