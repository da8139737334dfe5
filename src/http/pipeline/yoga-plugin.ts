import type { Plugin } from 'graphql-yoga';
import { OperatorError } from '../../platform/operator-error.ts';

/** A plugin of Yoga's ecosystem. Of its hooks, those of HTTP run (docs/plugins.md). */
export type YogaPlugin = Plugin;

/**
 * Every hook there is, and whether it runs. Those of execution do not: the operation pipeline does what they are called
 * around.
 */
const RUNS: Readonly<Record<Extract<keyof YogaPlugin, string>, boolean>> = {
  onYogaInit: true,
  onRequest: true,
  onRequestParse: true,
  onParams: true,
  onResultProcess: true,
  onResponse: true,
  onDispose: true,
  onSchemaChange: false,
  onPluginInit: false,
  onEnveloped: false,
  onParse: false,
  onValidate: false,
  onContextBuilding: false,
  onExecute: false,
  onSubscribe: false,
  onExecutionResult: false,
  instrumentation: false,
};

/** Throws OperatorError for a plugin that would not do all of its work. */
export function requireHttpHooks(plugins: readonly YogaPlugin[]): void {
  for (const [index, plugin] of plugins.entries())
    for (const [name, runs] of Object.entries(RUNS))
      if (!runs && Reflect.get(plugin, name) !== undefined)
        throw new OperatorError(
          `Plugin ${index + 1} of src/yoga-plugins.ts has "${name}", which would never run: what concerns execution belongs in a resolver or in a Pothos plugin (src/graphql/builder.ts). See docs/plugins.md.`,
        );
}
