import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { Bench } from '../bench';
import { Http } from '../http';
import { compare, timeCalls } from '../measure';
import { Nginx } from '../nginx';

const MIB = 1024 * 1024;
const LARGE_BYTES = 1024 * MIB;
const SMALL_BYTES = 4 * 1024;
const SMALL_FILES = 10_000;
const CLIENTS = 16;

/** The server to which a side sends its files. */
interface Target {
  port: number;
  headers: Record<string, string>;
}

/** Uploads and downloads 1 GiB, compared with nginx on the same machine. Also measures the memory growth of the service. */
export async function fileTransfer(bench: Bench): Promise<void> {
  await withNginx(bench, async (nginx, service) => {
    const files: string[] = [];
    const paths = ['/large', ''];
    const upload = async (round: number): Promise<void> => {
      const query = `workspace_id=${bench.scope.workspaceId}&name=large-${round}-${files.length}`;
      const response = await exchange(service, 'POST', `/file/v1/files?${query}`, LARGE_BYTES, round);
      files.push((JSON.parse(response.body) as { file_id: string }).file_id);
    };
    const watch = bench.watchMemory();
    const up = await compare([
      {
        name: 'nginx',
        measure: (round) => speed(() => exchange(nginx, 'PUT', '/large', LARGE_BYTES, round)),
      },
      { name: 'service', measure: (round) => speed(() => upload(round)) },
    ]);
    bench.report('upload of 1 GiB', 'MiB/s', up, ['nginx', 'service']);
    paths[1] = `/file/v1/files/${files.at(-1)!}/content`;
    const down = await compare(
      [nginx, service].map((target, side) => ({
        name: String(side),
        measure: () => speed(() => exchange(target, 'GET', paths[side]!)),
      })),
    );
    bench.report('download of 1 GiB', 'MiB/s', down, ['nginx', 'service']);
    bench.line(`memory of the service grew by ${((await watch.stop()) / MIB).toFixed(0)} MiB`);
  });
}

/** Uploads and downloads 10,000 files of 4 KiB over 16 connections, compared with nginx. */
export async function smallFiles(bench: Bench): Promise<void> {
  await withNginx(bench, async (nginx, service) => {
    const [nginxClient, client] = [nginx, service].map(
      ({ port, headers }) => new Http(new URL(`http://127.0.0.1:${port}`), headers, CLIENTS),
    ) as [Http, Http];
    const body = (index: number): Buffer => Buffer.alloc(SMALL_BYTES, `${index} ${Math.random()}`);
    const ids: string[] = [];
    const upload = async (index: number): Promise<void> => {
      const query = `workspace_id=${bench.scope.workspaceId}`;
      const response = await client.send('POST', `/file/v1/files?${query}`, 201, body(index), 'text/plain');
      ids.push((JSON.parse(response.body.toString()) as { file_id: string }).file_id);
    };
    const perRound = SMALL_FILES / 5;
    const perSecond = async (call: (index: number) => Promise<unknown>): Promise<number> =>
      (perRound * 1000) / (await timeCalls(perRound, CLIENTS, call));
    const up = await compare([
      {
        name: 'nginx',
        measure: (round) =>
          perSecond((n) => nginxClient.send('PUT', `/s-${round}-${n}`, 201, body(n), 'text/plain')),
      },
      { name: 'service', measure: () => perSecond(upload) },
    ]);
    bench.report('uploads of 4 KiB', 'per second', up, ['nginx', 'service']);
    const down = await compare([
      {
        name: 'nginx',
        measure: (round) => perSecond((n) => nginxClient.send('GET', `/s-${round}-${n}`, 200)),
      },
      {
        name: 'service',
        measure: (round) =>
          perSecond((n) => client.send('GET', `/file/v1/files/${ids[round * perRound + n]!}/content`, 200)),
      },
    ]);
    bench.report('downloads of 4 KiB', 'per second', down, ['nginx', 'service']);
    nginxClient.close();
    client.close();
  });
}

async function withNginx(
  bench: Bench,
  work: (nginx: Target, service: Target) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'bench-nginx-'));
  const nginx = await Nginx.start(directory);
  try {
    if (!nginx) bench.line('files: skipped, because nginx is not installed');
    else await work({ port: nginx.port, headers: {} }, bench.http.target);
  } finally {
    await nginx?.stop();
    await rm(directory, { recursive: true });
  }
}

/** Returns MiB per second. */
async function speed(transfer: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await transfer();
  return ((LARGE_BYTES / MIB) * 1000) / (performance.now() - startedAt);
}

/** Sends a request over a new socket and reads the response to its end, for a fraction of the cost of an HTTP client. */
function exchange(
  { port, headers }: Target,
  method: string,
  target: string,
  bytes = 0,
  fill = 0,
): Promise<{ body: string }> {
  return new Promise((resolve, reject) => {
    let head = '';
    const socket = net.connect({
      port,
      host: '127.0.0.1',
      onread: {
        buffer: Buffer.allocUnsafe(MIB),
        callback: (length, buffer) => {
          if (head.length < 4096)
            head += Buffer.from(buffer as Uint8Array).toString('latin1', 0, Math.min(length, 4096));
          return true;
        },
      },
    });
    const all = {
      ...headers,
      Host: 'localhost',
      Connection: 'close',
      ...(bytes > 0 && { 'Content-Length': bytes }),
    };
    socket.write(
      `${method} ${target} HTTP/1.1\r\n${Object.entries(all)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n`,
    );
    const chunk = Buffer.alloc(MIB, fill + 1);
    let remaining = bytes;
    const send = (): void => {
      while (remaining > 0) {
        remaining -= chunk.length;
        if (!socket.write(chunk)) return;
      }
    };
    socket.on('drain', send).on('error', reject);
    socket.once('close', () => {
      if (/^HTTP\/1\.1 20[014] /.test(head)) resolve({ body: head.slice(head.indexOf('\r\n\r\n') + 4) });
      else reject(new Error(`${method} ${target}: ${head.slice(0, 300)}`));
    });
    send();
  });
}
