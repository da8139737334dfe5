/** `npm run test:gate`: every stage of the gate, with constant seeds. It exits with 1 if a stage failed. */
import { readArguments } from '../../src/platform/process.ts';
import { GATE_SEED, GATE_STAGES } from '../../tests/stages.ts';
import { prepareMachine, withCompileCache } from './machine.ts';
import { printResults, runStage, type StageResult } from './run-stage.ts';

const HELP = `npm run test:gate [-- --stage NAME …]

Runs the stages that every change must pass, which docs/contributing/tests.md lists. Installs missing Debian packages, and starts
PostgreSQL and Redis where DATABASE_URL and REDIS_URL are not set.
  --stage NAME  run this stage only; can be repeated
`;
const { stage: chosen = [] } = readArguments(HELP, { stage: { type: 'string', multiple: true } });
const unknown = chosen.filter((name) => !GATE_STAGES.some((stage) => stage.name === name));
if (unknown.length > 0) {
  const names = GATE_STAGES.map(({ name }) => `"${name}"`).join(', ');
  process.stderr.write(`The gate has no stage "${unknown[0]}". Its stages are ${names}.\n`);
  process.exit(2);
}

const results: StageResult[] = [];
await withCompileCache(async (cache) => {
  const given = { ...cache, ...prepareMachine('gate'), PROPERTY_SEED: String(GATE_SEED) };
  for (const stage of GATE_STAGES)
    if (chosen.length === 0 || chosen.includes(stage.name)) results.push(await runStage(stage, given));
});
printResults(results, new Map(GATE_STAGES.map(({ name, budgetSeconds }) => [name, budgetSeconds])));
process.exit(results.some(({ failures }) => failures.length > 0) ? 1 : 0);
