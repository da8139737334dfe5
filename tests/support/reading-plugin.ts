import { registerHooks } from 'node:module';
import type { YogaPlugin } from '../../src/http/yoga/yoga-host.ts';

/** Has every hook of execution, reads each result and each event, and changes nothing. */
export const READING: YogaPlugin = {
  onParse: () => () => undefined,
  onValidate: () => () => undefined,
  onContextBuilding: () => () => undefined,
  onExecute: () => ({ onExecuteDone: ({ result }) => void JSON.stringify(result) }),
  onSubscribe: () => ({
    onSubscribeResult: () => ({
      onNext: ({ result }) => void JSON.stringify(result),
      onEnd: () => undefined,
    }),
  }),
};

/**
 * With `TEST_HOST=yoga`, the arguments of Node that have a process of the service run with the plugin. Node loads this file first,
 * which then replaces the list of plugins.
 */
export const HOST_ARGUMENTS: readonly string[] =
  process.env.TEST_HOST === 'yoga' ? ['--import', import.meta.filename] : [];

if (process.execArgv.includes(import.meta.filename))
  registerHooks({
    load(url, context, nextLoad) {
      if (!url.endsWith('/src/app/yoga-plugins.ts')) return nextLoad(url, context);
      const source = `import { READING } from '${import.meta.url}'; export const YOGA_PLUGINS = [READING];`;
      return { format: 'module', shortCircuit: true, source };
    },
  });
