/** Wakes readers of the event log. Without a payload. */
export const EVENTS_CHANNEL = 'content_graph_events';
/** Published documents were retired. Without a payload. */
export const DOCUMENTS_CHANNEL = 'content_graph_documents';
/** Blocked addresses or limits of accounts have changed. Without a payload; triggers send it. */
export const RESTRICTIONS_CHANNEL = 'content_graph_restrictions';
/** Credentials have ended; the payload is the id of an account, an application or a token. Triggers send it. */
export const CREDENTIALS_CHANNEL = 'content_graph_credentials';
