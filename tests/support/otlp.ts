import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from 'vitest';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string;
  readonly name: string;
  /** SERVER is 2, CLIENT 3, PRODUCER 4, CONSUMER 5. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** Those of its process. */
  readonly resource: Readonly<Record<string, string | number | boolean>>;
  /** The spans that it is linked to. */
  readonly links: readonly string[];
  readonly failed: boolean;
}

type Fields = Map<number, (Buffer | bigint)[]>;

function varint(bytes: Buffer, from: number): [value: bigint, next: number] {
  let value = 0n;
  let at = from;
  for (let shift = 0n; ; shift += 7n) {
    const byte = bytes.readUInt8(at);
    at += 1;
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

/** The fields of a message in protobuf, by number. */
function fieldsOf(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  while (at < bytes.length) {
    const [tag, from] = varint(bytes, at);
    let value: Buffer | bigint;
    if ((tag & 7n) === 0n) [value, at] = varint(bytes, from);
    else {
      const [length, begin] = (tag & 7n) === 2n ? varint(bytes, from) : [(tag & 7n) === 1n ? 8n : 4n, from];
      at = begin + Number(length);
      value = bytes.subarray(begin, at);
    }
    const number = Number(tag >> 3n);
    fields.set(number, [...(fields.get(number) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number): Fields[] =>
  (fields.get(number) ?? []).map((value) => fieldsOf(value as Buffer));
const bytesOf = (fields: Fields, number: number): Buffer =>
  (fields.get(number)?.[0] as Buffer | undefined) ?? Buffer.alloc(0);
const hex = (fields: Fields, number: number) => bytesOf(fields, number).toString('hex');

function attributesOf(fields: Fields, number: number) {
  return Object.fromEntries(
    messages(fields, number).map((pair) => {
      const [value = new Map()] = messages(pair, 2);
      const [number, [first]]: [number, (Buffer | bigint)[]] = [...value][0] ?? [1, [Buffer.alloc(0)]];
      const shown = typeof first === 'bigint' ? (number === 2 ? first === 1n : Number(first)) : String(first);
      return [bytesOf(pair, 1).toString(), shown];
    }),
  );
}

/** The spans of an ExportTraceServiceRequest (opentelemetry-proto, trace/v1). */
function spansOf(body: Buffer): ReceivedSpan[] {
  return messages(fieldsOf(body), 1).flatMap((process) => {
    const resource = messages(process, 1).map((fields) => attributesOf(fields, 1))[0] ?? {};
    return messages(process, 2).flatMap((scope) =>
      messages(scope, 2).map((span) => ({
        traceId: hex(span, 1),
        spanId: hex(span, 2),
        parentId: hex(span, 4),
        name: bytesOf(span, 5).toString(),
        kind: Number(span.get(6)?.[0] ?? 0n),
        attributes: attributesOf(span, 9),
        resource,
        links: messages(span, 13).map((link) => hex(link, 2)),
        failed: messages(span, 15)[0]?.get(3)?.[0] === 2n,
      })),
    );
  });
}

/** A collector. */
export interface Collector {
  /** The settings of a service that exports every trace to it, at once. */
  readonly settings: Readonly<Record<string, string>>;
  readonly spans: ReceivedSpan[];
  /** All that it has received, as it came. */
  readonly bodies: Buffer[];
  /** How it answers; 200 by default. */
  respond: (response: ServerResponse) => void;
}

/**
 * Starts a collector for the tests of a file or a `describe`, before the service that exports to it with these settings
 * and the given ones.
 */
export function useCollector(given: Readonly<Record<string, string>> = {}): Collector {
  const collector: Collector = {
    settings: {},
    spans: [],
    bodies: [],
    respond: (response) => void response.writeHead(200).end(),
  };
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (request.url === '/v1/traces') {
      collector.bodies.push(body);
      collector.spans.push(...spansOf(body));
    }
    collector.respond(response);
  });
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    Object.assign(collector.settings, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      OTEL_BSP_SCHEDULE_DELAY: '20',
      ...given,
    });
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return collector;
}
