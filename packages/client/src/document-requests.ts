import { formatBody, type SerializedDocument } from './documents.ts';
import { createEtagCache } from './etag-cache.ts';
import type { RequestFields, Transport } from './transport.ts';

/** Requests that name a document by its id, or by its query string once the service does not have the id. */
export interface DocumentRequests {
  /** Formats the body of a request. */
  format(document: SerializedDocument, variables: unknown): string;
  /**
   * Posts a document.
   * @param body a body that `format` returned earlier
   */
  post(
    document: SerializedDocument,
    variables: unknown,
    fields: RequestFields,
    signal: AbortSignal,
    body?: string,
  ): Promise<Response>;
  /** Sends an id by GET, so that an unchanged result is not sent again. Without an id, the document is posted. */
  get(
    document: SerializedDocument,
    variables: unknown,
    fields: RequestFields,
    signal: AbortSignal,
  ): Promise<Response>;
}

/** Longer URLs are rejected by some proxies. */
const MAX_URL_LENGTH = 4_000;

export function createDocumentRequests(transport: Transport): DocumentRequests {
  const etags = createEtagCache();
  /** Ids that the service turned out not to have. */
  const unknownIds = new Set<string>();

  const findKnown = (document: SerializedDocument): SerializedDocument => {
    const { documentId, query } = document;
    const isUnknown = documentId !== undefined && query !== undefined && unknownIds.has(documentId);
    return isUnknown ? { ...document, documentId: undefined } : document;
  };

  /** Sends the query string in place of an unknown id. A service that rejects both may have the id later. */
  async function replaceId(documentId: string, send: () => Promise<Response>): Promise<Response> {
    unknownIds.add(documentId);
    const response = await send();
    if (!response.ok) unknownIds.delete(documentId);
    return response;
  }

  const requests: DocumentRequests = {
    format: (document, variables) => formatBody(findKnown(document), variables),
    async post(document, variables, fields, signal, body = requests.format(document, variables)) {
      const response = await transport.post(body, fields, signal);
      const { documentId, query } = document;
      // The service takes a document by its id and the same document as a query string for one operation. A stored body
      // may have another document.
      const canRepeat =
        documentId !== undefined && query !== undefined && body === formatBody(document, variables);
      if (response.status !== 404 || !canRepeat) return response;
      return replaceId(documentId, () =>
        transport.post(requests.format(document, variables), fields, signal),
      );
    },
    async get(document, variables, fields, signal) {
      const { documentId, operationName } = findKnown(document);
      const post = () => requests.post(document, variables, fields, signal);
      if (documentId === undefined) return post();
      const parameters = new URLSearchParams({ documentId, variables: JSON.stringify(variables) });
      if (operationName !== undefined) parameters.set('operationName', operationName);
      const url = `${transport.url}${transport.url.includes('?') ? '&' : '?'}${parameters}`;
      if (url.length > MAX_URL_LENGTH) return post();
      const response = await transport.get(url, { ...etags.getFields(url), ...fields }, signal);
      if (response.status !== 404 || document.query === undefined) return etags.complete(url, response);
      return replaceId(documentId, post);
    },
  };
  return requests;
}
