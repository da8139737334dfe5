import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/processes/process.ts';

export interface Places {
  readonly port: number;
  /** As nginx writes addresses. */
  readonly instances: readonly string[];
}

/** The main file of `deploy/nginx` with what it includes. Only ports and names are replaced. */
export function shippedConfiguration({ port, instances }: Places): string {
  const read = (name: string) => readFileSync(join(ROOT, 'deploy/nginx', name), 'utf8');
  let index = 0;
  const servers = read('content-graph.conf')
    .replaceAll(/server api-\d:4000/g, () => `server ${instances[index++ % instances.length]}`)
    .replaceAll('listen 443', `listen 127.0.0.1:${port}`)
    .replaceAll('api.example.com', 'localhost');
  return read('nginx.conf').replace('include /etc/nginx/conf.d/*.conf;', servers);
}
