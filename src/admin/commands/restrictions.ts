import { type Command, Option } from 'commander';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { KEPT_SECONDS, MEASURES, type Measure, topClients } from '../../auth/client-usage.ts';
import { listBlocks, MAX_BLOCKS, putBlock, removeBlock } from '../../auth/restriction-store.ts';
import type { Database } from '../../database/database.ts';
import type { Queryable } from '../../database/statement.ts';
import type { Config } from '../../platform/config/config.ts';
import { isWithin, LOOPBACK, type Network, networkOf, textOf } from '../../platform/ip-address.ts';
import type { AdminCommand } from '../cli/connection.ts';
import { parseDuration, parseNetwork, parseSeconds, type ReasonOption } from '../cli/options.ts';
import { AdminError } from '../cli/output.ts';

interface BlockOptions extends ReasonOption {
  readonly for?: number;
  readonly force?: boolean;
}

/** Wider networks have so many other clients in them that a mistake is likely. */
const WIDEST = { ipv4: 16, ipv6: 32 } as const;

/** Throws AdminError for a block that would do nothing, or more than is likely meant. */
function check(network: Network, { trustProxy }: Config, force: boolean): void {
  const own = [...LOOPBACK, ...trustProxy.flatMap((each) => networkOf(each) ?? [])];
  if (own.some((each) => isWithin(network, each)))
    throw new AdminError(
      'This machine and the proxies in TRUST_PROXY are never blocked: it would do nothing.',
    );
  const widest = WIDEST[network.family];
  if (network.bits < widest && !force)
    throw new AdminError(
      `A network wider than /${widest} takes many clients with it: if you mean it, repeat the command with --force.`,
    );
}

async function block(
  { database, config }: { readonly database: Database; readonly config: Config },
  network: Network,
  { for: forMs, reason, force = false }: BlockOptions,
) {
  check(network, config, force);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const put = await putBlock(work, network, { reason, forMs });
    if (put === undefined)
      throw new AdminError(
        `There are at most ${MAX_BLOCKS} blocks: end some, or block a network that has several in it.`,
      );
    await audit(work, 'block', put.network, { endsAt: put.endsAt });
    return put;
  });
}

/** Other blocks that an address is in may be what is meant. */
async function noBlock(db: Queryable, network: Network): Promise<AdminError> {
  const others = (await listBlocks(db, network)).map((each) => each.network);
  const hint = others.length === 0 ? '' : ` Blocked is ${others.join(', ')}.`;
  return new AdminError(`There is no block of ${textOf(network)} itself.${hint}`);
}

function unblock(database: Database, network: Network) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const ended = await removeBlock(work, network);
    if (ended === undefined) throw await noBlock(work, network);
    await audit(work, 'unblock', ended);
    return { network: ended, blocked: false };
  });
}

const ADDRESS = 'a client address, or a network such as 192.0.2.0/24';

/** `block`. */
export const blockCommand: AdminCommand = {
  name: 'block',
  description:
    'refuses the requests of client addresses, on all instances within a second; their streams end',
  define(command, run) {
    command
      .argument('<address>', ADDRESS, parseNetwork)
      .addOption(
        new Option('--for <duration>', 'such as 30m, 12h or 7d; default: until "unblock"').argParser(
          parseDuration,
        ),
      )
      .option('--force', `also for networks wider than /${WIDEST.ipv4}, or /${WIDEST.ipv6} of IPv6`)
      .action((network: Network, _: BlockOptions, self: Command) =>
        run((opened) => block(opened, network, self.optsWithGlobals<BlockOptions>())),
      );
  },
};

/** `unblock`. */
export const unblockCommand: AdminCommand = {
  name: 'unblock',
  description: 'ends a block',
  define(command, run) {
    command
      .argument('<address>', 'as it was blocked', parseNetwork)
      .action((network: Network) => run(({ database }) => unblock(database, network)));
  },
};

/** `blocks`. */
export const blocksCommand: AdminCommand = {
  name: 'blocks',
  description: 'lists the blocks in force, oldest first',
  define(command, run) {
    command.action(() => run(({ database }) => listBlocks(database)));
  },
};

/** `top`. */
export const topCommand: AdminCommand = {
  name: 'top',
  description: 'lists the clients that use the most, of all instances; at most 5 s old',
  define(command, run) {
    command
      .addOption(
        new Option('--seconds <n>', `how far back, at most ${KEPT_SECONDS}`)
          .argParser(parseSeconds(KEPT_SECONDS))
          .default(60),
      )
      .addOption(
        new Option('--by <measure>', 'requests, the complexity of operations, or time of the database')
          .choices(MEASURES)
          .default('requests'),
      )
      .action(({ seconds, by }: { readonly seconds: number; readonly by: Measure }) =>
        run(({ database }) => topClients(database, seconds, by)),
      );
  },
};
