import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type NginxProcess, startNginx as start } from '../../scripts/cluster/nginx.ts';
import { endOfTest } from './processes/process.ts';

export interface Nginx extends Pick<NginxProcess, 'home' | 'certificate'> {
  /** What it has written to all of its logs. */
  logs(): Promise<string>;
}

/** Starts nginx with a main file that listens on the port, in a new subfolder of `folder`, until the end of the test. */
export async function startNginx(
  configuration: string,
  place: { readonly folder: string; readonly port: number },
): Promise<Nginx> {
  const { service, home, certificate } = await start(configuration, { ...place, signal: endOfTest() });
  onTestFinished(async () => void (await service.stop()));
  return {
    home,
    certificate,
    async logs() {
      const names = (await readdir(home)).filter((name) => name.endsWith('.log'));
      const texts = await Promise.all(names.map((name) => readFile(join(home, name), 'utf8')));
      return texts.join('\n');
    },
  };
}
