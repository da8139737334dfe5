import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import type { DocumentNode } from 'graphql';

interface Answer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { readonly message: string }[];
}

/** The id that codegen's client preset has written into a document. */
export function idOf(document: DocumentNode & { __meta__?: { hash: string } }): string {
  if (document.__meta__ === undefined) throw new Error('generate with persistedDocuments');
  return document.__meta__.hash;
}

/** Runs a document by its id. */
export async function send<Data, Variables>(
  url: string,
  headers: Readonly<Record<string, string>>,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Answer<Data>> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ documentId: idOf(document), variables }),
  });
  return (await response.json()) as Answer<Data>;
}
