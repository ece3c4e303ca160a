// A machine with the binary and an empty database, for stories that need a server of their own: an empty one, or one whose
// mail leaves.

import { execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { bin, finish, sql, until, work } from './world.mjs';

const run = promisify(execFile);
const servers = [];
let made = 0;

export function freePort() {
  return new Promise((found) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => found(port));
    });
  });
}

export async function machine(settings = {}) {
  const database = `machine_${process.pid}_${++made}`;
  await sql(`create database ${database}`);
  const folder = await mkdtemp(path.join(work, 'machine-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const log = path.join(folder, 'server.log');
  const env = {
    ...process.env,
    WEB_URL: url,
    ROOKERY_DATABASE_URL: process.env.ROOKERY_DATABASE_URL.replace(/\/[^/]*$/, `/${database}`),
    ROOKERY_LISTEN: `127.0.0.1:${port}`,
    ROOKERY_PUBLIC_URL: url,
    ROOKERY_BLOBS: `file://${folder}/blobs`,
    // Nobody waits ten minutes to see that it "left".
    ROOKERY_UNDO_WINDOW_SECONDS: '1',
    ...settings,
  };
  let commands = 0;
  return {
    url,
    log,
    env,
    commands: () => commands,
    rookery: (...words) => {
      commands += 1;
      return run(bin, words, { cwd: folder, env });
    },
    serve: async () => {
      commands += 1;
      const server = spawn(bin, ['serve'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
      server.stdout.pipe(createWriteStream(log));
      servers.push(server);
      await until('it serves', async () => (await fetch(`${url}/readyz`).catch(() => null))?.ok, 60);
    },
  };
}

/** To be given to `after` instead of `finish`. The pages go first: what loses its server complains. */
export async function finishAll() {
  try {
    await finish();
  } finally {
    for (const server of servers) {
      server.kill();
      await new Promise((ended) => server.on('exit', ended));
    }
  }
}
