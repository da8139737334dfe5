import type { Client } from 'content-graph-client';

declare global {
  namespace App {
    interface Locals {
      /** Acts with the session of the visitor, for one request. */
      client: Client;
    }
  }
}
