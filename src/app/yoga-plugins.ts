import type { YogaPlugin } from '../http/yoga/yoga-host.ts';

/** Hooks of these plugins run in this order. Any plugin here makes requests take a slower path (docs/contributing/yoga-plugins.md). */
export const YOGA_PLUGINS: readonly YogaPlugin[] = [];
