import { ContentGraphError, type ServiceError } from './errors.ts';

/** The body of a GraphQL response. */
export interface Payload<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly ServiceError[];
  readonly extensions?: Readonly<Record<string, unknown>> & { readonly eventId?: string };
}

/** Parses a GraphQL response. A string that is no JSON object has no members. */
export function parsePayload<Data>(text: string): Payload<Data> {
  try {
    const parsed: Payload<Data> | null = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return {};
    return parsed.errors === undefined || Array.isArray(parsed.errors) ? parsed : {};
  } catch {
    return {};
  }
}

/** Reads a response. Only JSON is a GraphQL response. */
export async function readPayload<Data>(response: Response): Promise<Payload<Data>> {
  const text = await response.text();
  return response.headers.get('content-type')?.includes('json') === true ? parsePayload(text) : {};
}

/** Parses `Retry-After`: seconds, or a date, which a proxy may send (RFC 9110, section 10.2.3). */
export function parseRetryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const durationMs = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - nowMs;
  return durationMs > 0 ? durationMs : undefined;
}

const formatMessage = (errors: readonly ServiceError[]) => errors.map(({ message }) => message).join('\n');

/** Creates the error of a response without usable data. */
export function createResponseError(
  response: Response,
  payload: Payload<unknown>,
  nowMs: number,
): ContentGraphError {
  const { status: httpStatus, headers } = response;
  const errors = payload.errors ?? [];
  const code = errors[0]?.extensions?.code;
  const details = {
    httpStatus,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: parseRetryAfterMs(headers, nowMs),
  };
  if (code === undefined && !('data' in payload))
    return new ContentGraphError(
      'UNEXPECTED_RESPONSE',
      `The response with status ${httpStatus} is not from the service.`,
      details,
    );
  return new ContentGraphError(code ?? 'INTERNAL_SERVER_ERROR', formatMessage(errors), {
    ...details,
    errors,
    wasExecuted: 'data' in payload,
  });
}

/** Creates the error of a response inside an event stream. */
export function createStreamError(errors: readonly ServiceError[]): ContentGraphError {
  const code = errors[0]?.extensions?.code ?? 'UNEXPECTED_RESPONSE';
  return new ContentGraphError(code, formatMessage(errors), { errors });
}
