import { type DocumentAstNode, printDocument } from './print-document.ts';

/** A parsed document with its types, such as `TypedDocumentNode` and the documents of gql.tada. */
export interface TypedNode<Data, Variables> {
  readonly kind: string;
  readonly definitions?: readonly DocumentAstNode[] | undefined;
  /** The id of a persisted document, as `graphql.persisted` of gql.tada sets it. */
  readonly documentId?: string | undefined;
  /** With `hash`, the id of a persisted document, as graphql-codegen sets it. */
  readonly __meta__?: Readonly<Record<string, unknown>> | undefined;
  /** Never present at run time. */
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
}

/** A query string with its types, such as `TypedDocumentString` of graphql-codegen. */
export interface TypedString<Data, Variables> {
  toString(): string;
  charAt(position: number): string;
  /** With `hash`, the id of a persisted document. */
  readonly __meta__?: Readonly<Record<string, unknown>> | undefined;
  /** Never present at run time. */
  readonly __apiType?: ((variables: Variables) => Data) | undefined;
}

/** What the client takes as a document: a query string, a parsed document or a typed string. */
export type Document<Data, Variables> = string | TypedNode<Data, Variables> | TypedString<Data, Variables>;

/** The two ways in which a request names its document. */
export interface SerializedDocument {
  readonly documentId: string | undefined;
  readonly query: string | undefined;
  /** The operation to execute, of a document with several. */
  readonly operationName?: string | undefined;
}

const serialized = new WeakMap<object, SerializedDocument>();

function findHash({ __meta__ }: { readonly __meta__?: Readonly<Record<string, unknown>> | undefined }) {
  return typeof __meta__?.hash === 'string' ? __meta__.hash : undefined;
}

function serializeNode<Data, Variables>(document: TypedNode<Data, Variables>): SerializedDocument {
  const { kind, definitions, documentId = findHash(document) } = document;
  const hasText = definitions !== undefined && definitions.length > 0;
  return { documentId, query: hasText ? printDocument({ kind, definitions }) : undefined };
}

function serializeString<Data, Variables>(document: TypedString<Data, Variables>): SerializedDocument {
  return { documentId: findHash(document), query: document.toString() };
}

/** Prints a document once. An id is sent in place of the query string, if there is one. */
export function serializeDocument<Data, Variables>(
  document: Document<Data, Variables>,
  operationName?: string,
): SerializedDocument {
  if (typeof document === 'string') return { documentId: undefined, query: document, operationName };
  const known =
    serialized.get(document) ?? ('kind' in document ? serializeNode(document) : serializeString(document));
  serialized.set(document, known);
  return { ...known, operationName };
}

/** Formats the body of a request. */
export function formatBody(
  { documentId, query, operationName }: SerializedDocument,
  variables: unknown,
): string {
  const document = documentId === undefined ? { query } : { documentId };
  return JSON.stringify({ ...document, operationName, variables });
}
