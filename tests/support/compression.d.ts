declare module 'compression' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  function compression(): (incoming: IncomingMessage, outgoing: ServerResponse, next: () => void) => void;
  export = compression;
}
