import type { YogaPlugin } from '../http/yoga/yoga-host.ts';

/**
 * Plugins of Yoga's ecosystem, in the order in which their hooks run. With any here, requests take a path that costs more
 * (docs/plugins.md).
 */
export const YOGA_PLUGINS: readonly YogaPlugin[] = [];
