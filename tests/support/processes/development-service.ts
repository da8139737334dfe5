import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Service, startService } from '../../../src/app/server.ts';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { createLogger } from '../../../src/platform/log/log.ts';
import { AMPLE_TIMEOUTS } from '../settings.ts';
import { openProfiles, type Profiles } from './browser.ts';
import { fillFolder } from './migrated-folder.ts';

export interface DevelopmentService {
  readonly service: Service;
  readonly profiles: Profiles;
}

/** The service on its first start in development and a browser for it, during a `describe`. Read it inside tests only. */
export function useDevelopmentService(): DevelopmentService {
  const holder = {} as DevelopmentService;
  const opened: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'content-graph-development-'));
    opened.push(() => rm(folder, { recursive: true, force: true }));
    await fillFolder(folder);
    const config = loadConfig({ ...AMPLE_TIMEOUTS, NODE_ENV: 'development', PORT: '0', DATA_DIR: folder });
    const service = await startService(config, createLogger({ level: 'error', pretty: false }));
    opened.push(() => service.stop());
    const profiles = await openProfiles(service.origin);
    opened.push(() => profiles.close());
    Object.assign(holder, { service, profiles });
  });
  afterAll(async () => {
    for (const close of opened.toReversed()) await close();
  });
  return holder;
}
