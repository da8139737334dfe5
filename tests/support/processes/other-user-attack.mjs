/**
 * What another user of the machine tries, given a command and paths; prints JSON.
 * `make PATH…` makes folders that anybody may write to. `attack PATH…` tries everything on what is under the paths.
 * `listen PATH…` listens in each folder where the admin socket would be, and prints a line for whoever connects.
 * `take PATH…` puts a listener in the place of each socket and prints a line for whoever connects.
 */
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';

const [command, ...roots] = process.argv.slice(2);
/** What is there, also where the folder does not say so. */
const KNOWN = [
  'admin.sock',
  'demo.json',
  'secret-key',
  'lock',
  'postgres',
  'postgres/global/pg_control',
  'postgres/pg_wal/000000010000000000000001',
  'postgres/postgresql.conf',
];

const say = (line) => process.stdout.write(`${line}\n`);

const works = (attempt) => {
  try {
    attempt();
    return true;
  } catch {
    return false;
  }
};

function under(root) {
  const found = KNOWN.map((name) => path.join(root, name));
  try {
    for (const entry of fs.readdirSync(root, { withFileTypes: true })) {
      const here = path.join(root, entry.name);
      found.push(here, ...(entry.isDirectory() ? under(here) : []));
    }
  } catch {}
  return [...new Set(found)];
}

const isSocket = (file) => works(() => fs.lstatSync(file)) && fs.lstatSync(file).isSocket();

function connects(file) {
  return new Promise((resolve) => {
    const socket = net.connect(file, () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

const listen = (file, onConnection) =>
  new Promise((resolve) => {
    const server = net.createServer(onConnection);
    server.on('error', () => resolve(false));
    server.listen(file, () => resolve(true));
  });

if (command === 'make') {
  process.umask(0);
  for (const root of roots) fs.mkdirSync(root, { mode: 0o777 });
  say('{}');
} else if (command === 'attack') {
  const result = { seen: [], read: [], written: [], moved: [], connected: [], listening: [] };
  for (const root of roots) {
    if (works(() => fs.readdirSync(root))) result.seen.push(root);
    if (works(() => fs.writeFileSync(path.join(root, 'planted'), 'x'))) result.written.push(root);
    if (await listen(path.join(root, 'own-socket'))) result.listening.push(root);
    for (const file of under(root)) {
      if (works(() => fs.closeSync(fs.openSync(file, 'r')))) result.read.push(file);
      if (works(() => fs.closeSync(fs.openSync(file, 'r+')))) result.written.push(file);
      if (await connects(file)) result.connected.push(file);
      if (works(() => fs.renameSync(file, `${file}.moved`))) result.moved.push(file);
    }
  }
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit());
} else if (command === 'listen') {
  for (const root of roots) {
    const file = path.join(root, 'admin.sock');
    if (await listen(file, () => say(`connected ${file}`))) say('waiting');
  }
} else if (command === 'take') {
  process.umask(0);
  for (const root of roots)
    for (const file of under(root)) {
      if (!isSocket(file)) continue;
      if (!works(() => fs.renameSync(file, `${file}.moved`))) continue;
      await listen(file, (socket) => {
        say(`connected ${file}`);
        socket.destroy();
      });
    }
  say('waiting');
  setInterval(() => undefined, 1000);
}
