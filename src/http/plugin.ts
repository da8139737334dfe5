import type { HttpRequest, HttpResponse, OutgoingHeaders, RequestUrl } from '../request/http-message.ts';
import type { RequestState } from '../request/request-state.ts';

/** An incoming request. A plugin may end it with a response. */
export interface IncomingRequest {
  readonly request: HttpRequest;
  readonly url: RequestUrl;
  readonly state: RequestState;
  endResponse(response: HttpResponse): void;
}

/** An outgoing response. */
export interface OutgoingResponse {
  readonly request: Pick<HttpRequest, 'method' | 'url' | 'headers'>;
  readonly response: { readonly status: number; readonly headers: OutgoingHeaders };
  readonly state: RequestState;
}

/** Hooks into requests and responses. The fast path and Yoga have no other hooks in common. */
export interface HttpPlugin {
  onRequest?(arriving: IncomingRequest): Promise<void> | void;
  onResponse?(departing: OutgoingResponse): void;
}
