import type { OutgoingHeaders } from '../../request/http-message.ts';

/** Adds a field to Vary (RFC 9110 section 12.5.5), unless it is there. */
export function addVary(headers: OutgoingHeaders, field: string): void {
  const fields = headers.get('vary');
  if (fields == null) headers.set('vary', field);
  else if (!fields.toLowerCase().split(', ').includes(field.toLowerCase()))
    headers.set('vary', `${fields}, ${field}`);
}
