import { describe, expect, it } from 'vitest';
import { misspelledSettings } from '../../../src/platform/config/misspelled-settings.ts';
import { SETTING_NAMES } from '../../../src/platform/config/setting-table.ts';

describe('misspelledSettings', () => {
  it.each([
    ['DATABASE_URI', 'DATABASE_URL'],
    ['database_url', 'DATABASE_URL'],
    ['DATABSE_URL_FILE', 'DATABASE_URL_FILE'],
    ['NODE_EVN', 'NODE_ENV'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['PORTS', 'PORT'],
    ['TRUSTED_PROXY', 'TRUST_PROXY'],
    ['HOST_FILE', 'HOST'],
  ])('takes %s for %s', (name, meant) => {
    expect(misspelledSettings([name])).toEqual(meant === undefined ? [] : [{ name, meant }]);
  });

  it('finds nothing in settings, nor in what shells, systemd and Kubernetes set', () => {
    const others =
      'PATH HOME HOSTNAME HOSTTYPE PWD USER LOGNAME SHELL TERM LANG SHLVL TMPDIR XDG_DATA_DIRS PS1 MAIL EDITOR NODE_OPTIONS NODE_PATH NODE_COMPILE_CACHE INVOCATION_ID JOURNAL_STREAM CREDENTIALS_DIRECTORY CACHE_DIRECTORY REDIS_PORT REDIS_SERVICE_HOST KUBERNETES_PORT MALLOC_MMAP_THRESHOLD_ OTEL_LOG_LEVEL PGHOST PGPORT CI npm_config_cache';
    expect(misspelledSettings([...SETTING_NAMES, ...others.split(' ')])).toEqual([]);
  });
});
