import { execFileSync } from 'node:child_process';
import { onTestFinished } from 'vitest';

/** A machine of its own at the other end of a cable, as far as TCP can tell. */
export interface Namespace {
  /** The address of this side. */
  readonly hostAddress: string;
  /** A command line that runs `command` on the other side. */
  inside(...command: readonly string[]): readonly [program: string, ...args: string[]];
  /** Drops every packet in both directions, as a phone does in a tunnel: nobody is told. */
  cut(): void;
}

const asRoot = process.getuid?.() === 0 ? [] : ['sudo', '-n'];

function run(...command: readonly string[]): void {
  const [program = '', ...args] = [...asRoot, ...command];
  execFileSync(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
}

let made = 0;

/** Makes a network namespace with a cable to it. Both go with the test. */
export function namespace(): Namespace {
  made += 1;
  // By the process, so that two runs at a time do not meet; a name of an interface has 15 characters at most.
  const name = `cg${process.pid}x${made}`;
  const network = `10.${200 + made}.${process.pid % 250}`;
  const [here, there] = [`${name}a`, `${name}b`];
  run('ip', 'netns', 'add', name);
  onTestFinished(() => run('ip', 'netns', 'delete', name));
  run('ip', 'link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', name);
  run('ip', 'address', 'add', `${network}.1/24`, 'dev', here);
  run('ip', 'link', 'set', here, 'up');
  const inside: Namespace['inside'] = (...command) => {
    const [program = '', ...args] = [...asRoot, 'ip', 'netns', 'exec', name, ...command];
    return [program, ...args];
  };
  const within = (...command: readonly string[]) => run('ip', 'netns', 'exec', name, ...command);
  within('ip', 'address', 'add', `${network}.2/24`, 'dev', there);
  within('ip', 'link', 'set', there, 'up');
  return {
    hostAddress: `${network}.1`,
    inside,
    cut() {
      for (const chain of ['INPUT', 'OUTPUT']) within('iptables', '-w', '-A', chain, '-j', 'DROP');
    },
  };
}
