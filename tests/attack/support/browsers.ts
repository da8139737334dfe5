import { hash, X509Certificate } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type Browser, launch } from 'puppeteer-core';
import { NAMES } from './front.ts';

/** What people have: the engine of Chrome, Edge, Opera and others, and Firefox. */
export const BROWSERS = ['Chromium', 'Firefox'] as const;
export type BrowserName = (typeof BROWSERS)[number];

/** Only ends a wait that is in vain. */
export const PATIENCE_MS = 120_000;

const PROGRAMS: Readonly<Record<BrowserName, readonly (string | undefined)[]>> = {
  Chromium: [process.env.CHROMIUM_PATH, '/usr/bin/chromium', '/usr/bin/chromium-browser'],
  Firefox: [process.env.FIREFOX_PATH, '/usr/bin/firefox-esr', '/usr/bin/firefox'],
};

function programOf(name: BrowserName): string {
  const found = PROGRAMS[name].find((path) => path !== undefined && existsSync(path));
  if (found !== undefined) return found;
  const debian = { Chromium: 'chromium', Firefox: 'firefox-esr' }[name];
  throw new Error(
    `These tests need ${name}: install it ("apt-get install -y ${debian}") or name it in ${name.toUpperCase()}_PATH.`,
  );
}

const WAITS = { timeout: PATIENCE_MS, protocolTimeout: 2 * PATIENCE_MS, waitForInitialPage: false };

/** Starts one in which the names of the tests lead here and no other name leads anywhere. */
export function openBrowser(name: BrowserName, certificate: string): Promise<Browser> {
  const executablePath = programOf(name);
  if (name === 'Firefox')
    return launch({
      ...WAITS,
      browser: 'firefox',
      executablePath,
      acceptInsecureCerts: true,
      extraPrefsFirefox: {
        'network.dns.localDomains': Object.values(NAMES).join(','),
        'network.proxy.type': 0,
        'network.dns.disablePrefetch': false,
        'network.prefetch-next': true,
        'dom.disable_open_during_load': false,
        'dom.serviceWorkers.testing.enabled': true,
        'fission.bfcacheInParent': true,
      },
    });
  // A page with an error of its certificate gets no service worker: this certificate is none.
  const key = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return launch({
    ...WAITS,
    browser: 'chrome',
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-popup-blocking'],
      '--host-resolver-rules=MAP * 127.0.0.1',
      `--ignore-certificate-errors-spki-list=${hash('sha256', key, 'base64')}`,
    ],
  });
}
