import { type ASTNode, type FieldNode, Kind, type OperationDefinitionNode, visit } from 'graphql';
import { type Asked, atRoot, type Standing } from '../../model/walk.ts';
import { Measure, type Range } from './measure.ts';

/** Contract section 5, the table. */
export const MAX_TOKENS = 1_000;
export const MAX_NAME = 100;
export const MAX = {
  depth: 10,
  complexity: 5_000,
  aliases: 30,
  rootFields: 50,
  directives: 50,
  pairs: 1_000,
};

type Figure = keyof typeof MAX;
export type Measured = Readonly<Record<Figure, Range>>;

const pairs = (count: number) => (count * (count - 1)) / 2;

function nodesOf<K extends Kind.DIRECTIVE | Kind.FIELD>(
  root: ASTNode,
  kind: K,
): Extract<ASTNode, { kind: K }>[] {
  const found: ASTNode[] = [];
  visit(root, { enter: (node) => void (node.kind === kind && found.push(node)) });
  return found as Extract<ASTNode, { kind: K }>[];
}

const responseName = ({ alias, name }: FieldNode) => (alias ?? name).value;
const sum = (numbers: Iterable<number>) => [...numbers].reduce((total, number) => total + number, 0);

function tally(names: readonly string[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const name of names) found.set(name, (found.get(name) ?? 0) + 1);
  return found;
}

/** The most fields of one response name that are written side by side in the operation. */
function repeated(operation: OperationDefinitionNode): number {
  let most = 0;
  visit(operation, {
    SelectionSet({ selections }) {
      const names = selections.filter((node) => node.kind === Kind.FIELD).map(responseName);
      most = Math.max(most, ...tally(names).values());
    },
  });
  return most;
}

/** What an operation comes to, figure by figure. */
export function measure(asked: Asked): Measured {
  const { document, operation } = asked;
  const around = atRoot(asked);
  const walk = new Measure(asked);
  const fields = [...walk.all(operation.selectionSet, around)];
  const asFar = new Measure(asked);
  const complexity = asFar.complexity(operation.selectionSet, around);
  const endless = walk.exhausted || asFar.exhausted;
  const kept = fields.filter(({ left, told }) => !left && !told);
  const aliased = (all: readonly Standing[]) => all.filter(({ field }) => field.alias !== undefined);
  const aliases = new Set(aliased(kept).map(({ field }) => field)).size;
  const directives = fields.map(({ field }) => field.directives?.length ?? 0);
  const roots = fields.filter(({ depth }) => depth === 1);
  const written = nodesOf(document, Kind.FIELD);
  const names = tally([...fields.map(({ field }) => field), ...written].map(responseName));
  const upTo = (least: number, most: number): Range => [least, endless ? Infinity : Math.max(least, most)];
  return {
    depth: upTo(Math.max(0, ...kept.map(({ depth }) => depth)), 0),
    complexity: upTo(...complexity),
    aliases: upTo(
      aliases,
      Math.max(aliased(fields).length, written.filter(({ alias }) => alias !== undefined).length),
    ),
    rootFields: upTo(new Set(roots.filter(({ left }) => !left).map(({ field }) => field)).size, roots.length),
    directives: upTo(
      sum([...new Set(kept.map(({ field }) => field))].map(({ directives: own }) => own?.length ?? 0)),
      sum(directives) + nodesOf(document, Kind.DIRECTIVE).length,
    ),
    pairs: upTo(pairs(repeated(operation)), sum([...names.values()].map((times) => times * times))),
  };
}

/** The codes of the limits that an operation goes past: those that it does in any case, and those that it may. */
export function passed(measured: Measured): {
  readonly surely: ReadonlySet<string>;
  readonly perhaps: ReadonlySet<string>;
} {
  const codesWhere = (past: (range: Range, max: number) => boolean) =>
    new Set(
      (Object.keys(MAX) as Figure[])
        .filter((figure) => past(measured[figure], MAX[figure]))
        .map((figure) => (figure === 'depth' ? 'DEPTH_LIMIT' : 'COMPLEXITY_LIMIT')),
    );
  return {
    surely: codesWhere(([least], max) => least > max),
    perhaps: codesWhere(([, most], max) => most > max),
  };
}
