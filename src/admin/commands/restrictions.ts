import { type Command, Option } from 'commander';
import { audit, OPERATOR } from '../../auth/audit.ts';
import { KEPT_SECONDS, MEASURES, type Measure, topClients } from '../../auth/client-usage.ts';
import { listBlocks, MAX_BLOCKS, putBlock, removeBlock } from '../../auth/restriction-store.ts';
import type { Queryable } from '../../database/statement.ts';
import type { Config } from '../../platform/config/config.ts';
import { formatNetwork, isWithin, LOOPBACK, type Network, networkOf } from '../../platform/ip-address.ts';
import type { DefineCommands, Opened } from '../cli/connection.ts';
import { parseDuration, parseNetwork, parseSeconds, type ReasonOption } from '../cli/options.ts';
import { AdminError } from '../cli/output.ts';

interface BlockOptions extends ReasonOption {
  readonly for?: number;
  readonly force?: boolean;
}

/** Wider networks have so many clients that the operator has probably mistyped the prefix length. */
const WIDEST = { ipv4: 16, ipv6: 32 } as const;

/** @throws {AdminError} for a block without effect, or for a network that is probably too wide. */
function check(network: Network, { trustProxy }: Config, force: boolean): void {
  const own = [...LOOPBACK, ...trustProxy].flatMap((each) => networkOf(each) ?? []);
  if (own.some((each) => isWithin(network, each)))
    throw new AdminError(
      `${formatNetwork(network)} has only addresses of this machine or of proxies in TRUST_PROXY, which are never blocked. Nothing was changed.`,
    );
  const widest = WIDEST[network.family];
  if (network.bits < widest && !force)
    throw new AdminError(
      `${formatNetwork(network)} is wider than /${widest} and may contain many clients. Nothing was changed. Repeat the command with --force to block the network anyway.`,
    );
}

const formatBlock = ({ endsAt, ...block }: Awaited<ReturnType<typeof listBlocks>>[number]) => ({
  ...block,
  expiresAt: endsAt,
});

async function block(
  { database, config }: Opened,
  network: Network,
  _options: BlockOptions,
  command: Command,
) {
  const { for: forMs, reason, force = false } = command.optsWithGlobals<BlockOptions>();
  check(network, config, force);
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const put = await putBlock(work, network, { reason, forMs });
    if (put === undefined)
      throw new AdminError(
        `There can be at most ${MAX_BLOCKS} blocks. Nothing was changed. Remove a block, or block a network that contains several blocked networks.`,
      );
    await audit(work, 'block.add', put.network, { expiresAt: put.endsAt });
    return formatBlock(put);
  });
}

/** The operator may mean another block that overlaps with the network. */
async function createNoBlockError(db: Queryable, network: Network): Promise<AdminError> {
  const others = (await listBlocks(db, network)).map((each) => each.network);
  const hint = others.length === 0 ? '' : ` Blocked networks that overlap: ${others.join(', ')}.`;
  return new AdminError(`Network ${formatNetwork(network)} is not blocked. Nothing was changed.${hint}`);
}

function unblock({ database }: Opened, network: Network) {
  return database.unitOfWork({ author: OPERATOR }).run(async (work) => {
    const ended = await removeBlock(work, network);
    if (ended === undefined) throw await createNoBlockError(work, network);
    await audit(work, 'block.remove', ended);
    return { network: ended, blocked: false };
  });
}

interface TopOptions {
  readonly seconds: number;
  readonly sortBy: Measure;
}

export const defineBlockCommands: DefineCommands = ({ add, command }) => {
  add('block', 'Manage blocked networks');
  command(
    'block add',
    'Block an IP address or a network and close its event streams, on all instances within a second',
    block,
  )
    .argument('<network>', 'IP address, or network such as 192.0.2.0/24', parseNetwork)
    .option('--for <duration>', 'such as 30m, 12h or 7d; default: until "block remove"', parseDuration)
    .option('--force', `Allow networks wider than /${WIDEST.ipv4}, or /${WIDEST.ipv6} of IPv6`);

  command('block remove', 'Remove a block', unblock).argument(
    '<network>',
    'network of the block, as "block list" prints the network',
    parseNetwork,
  );

  command('block list', 'List blocks in force, oldest first', async ({ database }) =>
    (await listBlocks(database)).map(formatBlock),
  );
};

export const defineTopCommand: DefineCommands = ({ command }) => {
  command(
    'top',
    'List the clients with the highest usage of all instances; the last 5 s can be missing',
    ({ database }, { seconds, sortBy }: TopOptions) => topClients(database, seconds, sortBy),
  )
    .option(
      '--seconds <n>',
      `usage of the last seconds, at most ${KEPT_SECONDS}`,
      parseSeconds(KEPT_SECONDS),
      60,
    )
    .addOption(
      new Option('--sort-by <measure>', 'requests, complexity of operations, or database time')
        .choices(MEASURES)
        .default('requests'),
    );
};
