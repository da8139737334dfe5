import type { HttpRequest } from '../../request/http-message.ts';
import { readField } from '../../request/request-fields.ts';
import { badRequest, bodyTooLarge, checkContentEncoding } from './json-body.ts';

/** No form needs more. */
const MAX_FORM_BYTES = 50_000;

export const FORM_TYPE = 'application/x-www-form-urlencoded';

/** Reads a form body. Throws BAD_REQUEST. */
export async function readForm(request: HttpRequest): Promise<URLSearchParams> {
  checkContentEncoding(request.headers);
  const [type = ''] = (readField(request.headers, 'content-type') ?? '').split(';');
  if (type.trim().toLowerCase() !== FORM_TYPE) throw badRequest(`The body must be "${FORM_TYPE}".`, 400);
  const bytes = await request.arrayBuffer();
  if (bytes.byteLength > MAX_FORM_BYTES) throw bodyTooLarge(MAX_FORM_BYTES);
  return new URLSearchParams(new TextDecoder().decode(bytes));
}
