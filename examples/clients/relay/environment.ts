import type { Client } from 'content-graph-client';
import { createRelayNetwork } from 'content-graph-client/relay';
import { Environment, RecordSource, Store } from 'relay-runtime';

/** The client of an account, and the store with everything that Relay has read. */
export interface RelaySession {
  readonly client: Client;
  readonly environment: Environment;
}

export function createRelaySession(client: Client): RelaySession {
  const environment = new Environment({
    network: createRelayNetwork(client),
    store: new Store(new RecordSource()),
  });
  return { client, environment };
}
