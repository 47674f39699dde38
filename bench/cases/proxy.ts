import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Bench } from '../bench';
import { Http } from '../http';
import { compare, median } from '../measure';
import { Nginx } from '../nginx';
import { load, loadWarm, type Load } from '../wrk';

const CONNECTIONS = 32;
const SECONDS = 5;
const ROUNDS = 5;
const GIB = 1024 ** 3;
/** The upstream's response of 1 KiB, a typical size. */
const RESPONSE = 'x'.repeat(1024);

/** Compares the API proxy with nginx `proxy_pass` and the package `http-proxy`, in front of the same nginx. */
export async function apiProxy(bench: Bench): Promise<void> {
  const root = await mkdtemp(path.join(os.tmpdir(), 'proxy-'));
  const upstream = await Nginx.start(
    path.join(root, 'upstream'),
    `location /response { return 200 "${RESPONSE}"; }`,
  );
  if (!upstream) throw new Error('nginx is not installed: apt-get install nginx');
  const target = `http://127.0.0.1:${upstream.port}`;
  const nginx = await Nginx.start(path.join(root, 'proxy'), proxyPass(target));
  const plain = await startHttpProxy(target);
  const keepAlive = await startHttpProxy(target, 'keep-alive');
  try {
    const api = await bench.http.json<{ api_id: string }>('POST', '/registry/v1/apis', 201, {
      workspace_id: bench.scope.workspaceId,
      name: `bench ${Date.now()}`,
      base_url: target,
    });
    const service = bench.http.target;
    const sides = [
      { name: 'http-proxy', base: plain.base, headers: {} },
      { name: 'http-proxy with keep-alive', base: keepAlive.base, headers: {} },
      { name: 'nginx', base: `http://127.0.0.1:${nginx!.port}`, headers: {} },
      {
        name: 'service',
        base: `http://127.0.0.1:${service.port}/api/v1/apis/${api.api_id}`,
        headers: service.headers,
      },
      { name: 'no proxy', base: target, headers: {} },
    ];
    await compareRequests(bench, sides);
    await compareDownloads(bench, root, sides);
  } finally {
    await stop(plain.child);
    await stop(keepAlive.child);
    await nginx?.stop();
    await upstream.stop();
    await rm(root, { recursive: true, force: true });
  }
}

async function startHttpProxy(...args: string[]): Promise<{ child: ChildProcess; base: string }> {
  const child = fork('bench/peers/http-proxy.mjs', args);
  const [port] = (await once(child, 'message')) as [number];
  return { child, base: `http://127.0.0.1:${port}` };
}

interface ProxySide {
  name: string;
  base: string;
  headers: Record<string, string>;
}

async function compareRequests(bench: Bench, sides: readonly ProxySide[]): Promise<void> {
  const options = { connections: CONNECTIONS, seconds: SECONDS };
  const throughput = await compare(
    sides.map(({ name, base, headers }) => ({
      name,
      measure: async () => (await loadWarm(`${base}/response`, { ...options, headers })).perSecond,
    })),
  );
  const names = sides.map(({ name }) => name);
  bench.report(`API proxy, ${CONNECTIONS} connections`, 'requests/s', throughput, names);
  // one request at a time, because latency under full load only repeats the throughput
  const single = sides.map((): Load[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, { base, headers }] of sides.entries()) {
      single[index]!.push(await load(`${base}/response`, { connections: 1, seconds: 2, headers }));
    }
  }
  for (const [percentile, of] of [
    ['p50', ({ p50 }: Load) => p50],
    ['p99', ({ p99 }: Load) => p99],
  ] as const) {
    const direct = median(single.at(-1)!.map(of));
    const added = single.slice(0, -1).map((loads) => median(loads.map(of)) - direct);
    const text = added.map((ms, index) => `${names[index]} ${ms.toFixed(3)}`).join(', ');
    process.stdout.write(`added latency, 1 connection, ${percentile}: ${text} ms\n`);
  }
}

/** Downloads 1 GiB through each side, and reports MiB per second. */
async function compareDownloads(bench: Bench, root: string, sides: readonly ProxySide[]): Promise<void> {
  await mkdir(path.join(root, 'upstream/files'), { recursive: true });
  const file = await open(path.join(root, 'upstream/files/large'), 'w');
  await file.truncate(GIB);
  await file.close();
  const memory = bench.watchMemory();
  const comparison = await compare(
    sides.map(({ name, base, headers }) => {
      const { origin, pathname } = new URL(base);
      const client = new Http(new URL(origin), headers, 1);
      return {
        name,
        measure: async () => {
          const startedAt = performance.now();
          const bytes = await client.download(`${pathname === '/' ? '' : pathname}/large`);
          if (bytes !== GIB) throw new Error(`${name} sent ${bytes} bytes`);
          return bytes / 1024 ** 2 / ((performance.now() - startedAt) / 1000);
        },
      };
    }),
  );
  const growth = await memory.stop();
  bench.report(
    '1 GiB through the API proxy',
    'MiB/s',
    comparison,
    sides.map(({ name }) => name),
  );
  process.stdout.write(`peak memory growth of the service: ${(growth / 1024 ** 2).toFixed(0)} MiB\n`);
}

const proxyPass = (target: string): string => `
  location / {
    proxy_pass ${target};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_buffering off;
  }
`;

async function stop(child: ChildProcess): Promise<void> {
  child.kill();
  await once(child, 'exit');
}
