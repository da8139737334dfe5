/** PostgreSQL's protocol as far as the sessions of the embedded database need it ("Message Formats"). */

const LENGTH_BYTES = 4;
const PROTOCOL_3 = 196_608;

/** A message: type, length, body. */
export function protocolMessage(type: string, ...body: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(body);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeInt32BE(content.length + LENGTH_BYTES);
  return Buffer.concat([Buffer.from(type), length, content]);
}

export const code = (type: string): number => type.charCodeAt(0);

/** The content of an ErrorResponse or a NoticeResponse. */
export interface Report {
  readonly severity: 'FATAL' | 'ERROR' | 'NOTICE';
  /** The SQLSTATE. */
  readonly state: string;
  readonly text: string;
}

export function reportMessage({ severity, state, text }: Report): Buffer {
  const type = severity === 'NOTICE' ? 'N' : 'E';
  return protocolMessage(type, Buffer.from(`S${severity}\0V${severity}\0C${state}\0M${text}\0\0`));
}

export const SYNC = protocolMessage('S');

/** Ends a COPY FROM STDIN with an error. The server ignores it where there is none ("COPY Operations"). */
export const copyFail = (text: string): Buffer => protocolMessage('f', Buffer.from(`${text}\0`));

/** The parameters of a StartupMessage; undefined for any other message. */
export function startupParameters(message: Uint8Array): ReadonlyMap<string, string> | undefined {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const head = 2 * LENGTH_BYTES;
  if (bytes.length < head || bytes.readInt32BE(LENGTH_BYTES) !== PROTOCOL_3) return undefined;
  const texts = bytes.toString('utf8', head).split('\0');
  const parameters = new Map<string, string>();
  for (let at = 0; at + 1 < texts.length && texts[at] !== ''; at += 2)
    parameters.set(texts[at] ?? '', texts[at + 1] ?? '');
  return parameters;
}

/** The text, ended by NUL, that begins at a byte of a message. */
export function textAt(message: Uint8Array, at: number): string {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  return bytes.toString('utf8', at, Math.max(at, bytes.indexOf(0, at)));
}

/** The length of ReadyForQuery. */
export const READY_BYTES = 6;

/**
 * The transaction status at the end of a response: idle, in a transaction, in a failed one. Undefined if the response
 * does not end with ReadyForQuery.
 */
export function readyStatus(end: Uint8Array): 'I' | 'T' | 'E' | undefined {
  if (end.length < READY_BYTES) return undefined;
  const at = end.length - READY_BYTES;
  const isReady = end[at] === code('Z') && end[at + LENGTH_BYTES] === LENGTH_BYTES + 1;
  const status = String.fromCharCode(end[end.length - 1] ?? 0);
  return isReady && (status === 'I' || status === 'T' || status === 'E') ? status : undefined;
}

const FATAL = Buffer.from('VFATAL\0');

/** The text of an ErrorResponse with which a backend ends. It is found by its severity: no text of a row has a NUL. */
export function fatalText(data: Uint8Array): string | undefined {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const at = bytes.indexOf(FATAL);
  if (at === -1) return undefined;
  const [, text = ''] = /\0M([^\0]*)/.exec(bytes.toString('utf8', at)) ?? [];
  return text;
}
