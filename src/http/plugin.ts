import type { HttpRequest, HttpResponse, OutgoingHeaders, RequestUrl } from '../request/http-message.ts';
import type { RequestState } from '../request/request-state.ts';

/** A request on its way in, which a plugin may end. */
export interface IncomingRequest {
  readonly request: HttpRequest;
  readonly url: RequestUrl;
  readonly state: RequestState;
  endResponse(response: HttpResponse): void;
}

/** A response on its way out. */
export interface OutgoingResponse {
  readonly request: Pick<HttpRequest, 'method' | 'url' | 'headers'>;
  readonly response: { readonly status: number; readonly headers: OutgoingHeaders };
  readonly state: RequestState;
}

/** What meets a request and its response, by whichever way they go: there is no other hook that all ways have. */
export interface HttpPlugin {
  onRequest?(arriving: IncomingRequest): Promise<void> | void;
  onResponse?(departing: OutgoingResponse): void;
}
