import type { Duplex } from 'node:stream';
import pg, { type ClientConfig } from 'pg';

/** How to connect to a server. */
export interface ServerConnection extends ClientConfig {
  /** True if the connection may continue without TLS where the server offers none. */
  readonly tlsIsOptional?: boolean;
}

/** The part of pg's connection that parses the messages of the server. */
interface ParsingConnection extends pg.Connection {
  attachListeners(stream: Duplex): void;
}

/** Response to SSLRequest: the server has no TLS and goes on without (PostgreSQL protocol, "SSL Session Encryption"). */
const NO_TLS = 'N';

/** A client of pg that can continue without TLS. pg itself ends the connection there. */
export class ServerClient extends pg.Client {
  declare readonly connection: ParsingConnection;
  /** The process id for cancel requests, which a pooler makes up. Null if the server sends none. */
  declare readonly processID: number | null;

  constructor(config: ServerConnection = {}) {
    super(config);
    if (config.tlsIsOptional === true) this.connection.once('connect', () => this.#acceptNoTls());
  }

  #acceptNoTls(): void {
    const { connection } = this;
    const { stream } = connection;
    const [negotiate, ...others] = stream.listeners('data');
    if (negotiate === undefined || others.length > 0)
      throw new Error('unexpected data listeners on a pg connection');
    stream.removeAllListeners('data').once('data', (response: Buffer) => {
      if (response.toString('latin1') !== NO_TLS) return negotiate(response);
      connection.attachListeners(stream);
      connection.emit('sslconnect');
    });
  }
}

/**
 * How pg reads `sslmode`. `require` and `verify-ca` check the certificate and the host name, as pg does, which is stricter
 * than libpq: pg writes a warning to standard error for these names. `allow` uses TLS first, as `prefer` does.
 */
const MODES: Readonly<Record<string, string>> = {
  allow: 'no-verify',
  prefer: 'no-verify',
  require: 'verify-full',
  'verify-ca': 'verify-full',
};
const OPTIONAL = new Set(['allow', 'prefer']);

/** How to connect to the server that a URL names. */
export function connectionTo(url: string): ServerConnection {
  const target = new URL(url);
  const mode = target.searchParams.get('sslmode');
  if (mode === null) return { connectionString: url };
  // PostgreSQL has no TLS on a socket, and libpq ignores sslmode there.
  const isSocket = (target.searchParams.get('host') ?? decodeURIComponent(target.hostname)).startsWith('/');
  target.searchParams.set('sslmode', isSocket ? 'disable' : (MODES[mode] ?? mode));
  return { connectionString: target.href, tlsIsOptional: !isSocket && OPTIONAL.has(mode) };
}
