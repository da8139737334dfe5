import { readFileSync } from 'node:fs';

/** An instruction of a Dockerfile, with its flags (`--name=value`) and the rest of its line. */
export interface Instruction {
  readonly name: string;
  readonly flags: ReadonlyMap<string, string>;
  readonly rest: string;
}

/** What has to be done for one image. */
export interface Stage {
  readonly image: string;
  readonly alias: string | undefined;
  readonly instructions: readonly Instruction[];
}

function instructionOf(line: string): Instruction {
  const [, name = '', after = ''] = /^(\w+)\s+(.*)$/s.exec(line) ?? [];
  const flags = new Map<string, string>();
  let rest = after;
  for (let match = flagOf(rest); match !== null && name !== 'RUN'; match = flagOf(rest)) {
    flags.set(match[1] ?? '', match[2] ?? '');
    rest = rest.slice(match[0].length);
  }
  return { name: name.toUpperCase(), flags, rest };
}

const flagOf = (text: string) => /^--([\w-]+)=(\S+)\s+/.exec(text);

/** The stages of a Dockerfile. Arguments before the first stage are put into its `FROM` lines. */
export function readDockerfile(path: string): Stage[] {
  const text = readFileSync(path, 'utf8')
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '');
  const given = new Map<string, string>();
  const stages: { image: string; alias: string | undefined; instructions: Instruction[] }[] = [];
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const instruction = instructionOf(line);
    const stage = stages.at(-1);
    if (instruction.name === 'FROM') {
      const from = instruction.rest.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => given.get(name) ?? '');
      const [image = '', , alias] = from.split(/\s+/);
      stages.push({ image, alias, instructions: [] });
    } else if (stage === undefined) {
      const [name = '', value = ''] = instruction.rest.split('=');
      given.set(name, value);
    } else stage.instructions.push(instruction);
  }
  return stages;
}

/** The value of the last instruction of a name. */
export function lastOf(stage: Stage, name: string): string {
  const found = stage.instructions.findLast((instruction) => instruction.name === name);
  if (found === undefined) throw new Error(`the image has no ${name}`);
  return found.rest;
}

/** The environment that a stage sets. */
export function environmentOf(stage: Stage): Record<string, string> {
  const pairs = stage.instructions.filter(({ name }) => name === 'ENV').map(({ rest }) => rest);
  return Object.fromEntries(
    pairs.flatMap((rest) => rest.trim().split(/\s+/)).map((pair) => pair.split('=') as [string, string]),
  );
}
