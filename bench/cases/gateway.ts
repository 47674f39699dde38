import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import type { Bench } from '../bench';
import { compare, median } from '../measure';
import { Portkey } from '../portkey';
import { loadWarm } from '../wrk';

const CONNECTIONS = 32;
const SECONDS = 5;
const ROUNDS = 5;
const STREAMS = 200;

const request = (model: string, stream = false): string =>
  JSON.stringify({
    model,
    messages: [
      { role: 'system', content: 'You answer questions about orders. '.repeat(10) },
      { role: 'user', content: 'Where is my order?' },
    ],
    ...(stream && { stream: true }),
  });

interface GatewaySide {
  name: string;
  port: number;
  path: string;
  headers: Record<string, string>;
  model: string;
}

/**
 * Compares the model gateway with `@portkey-ai/gateway`, in front of the same provider. The service also records usage
 * and, unless the side says otherwise, a span.
 */
export async function modelGateway(bench: Bench): Promise<void> {
  const provider = fork(path.join(__dirname, '../model-provider.child.js'));
  const [port] = (await once(provider, 'message')) as [number];
  const portkey = await Portkey.start();
  const root = await mkdtemp(path.join(os.tmpdir(), 'gateway-'));
  try {
    const recorded = await newModel(bench, port, true);
    const unrecorded = await newModel(bench, port, false);
    const service = bench.http.target;
    const sides: GatewaySide[] = [
      {
        name: 'portkey',
        port: portkey.port,
        path: '/v1/chat/completions',
        headers: {
          Authorization: 'Bearer sk-bench',
          'x-portkey-provider': 'openai',
          'x-portkey-custom-host': `http://127.0.0.1:${port}/v1`,
        },
        model: 'gpt-4o-mini',
      },
      ...[
        { name: 'service', model: recorded },
        { name: 'service without spans', model: unrecorded },
      ].map((side) => ({
        ...side,
        port: service.port,
        path: '/model/v1/chat/completions',
        headers: service.headers,
      })),
      { name: 'no gateway', port, path: '/v1/chat/completions', headers: {}, model: 'gpt-4o-mini' },
    ];
    await compareThroughput(bench, sides, root);
    await compareFirstBytes(sides);
  } finally {
    await portkey.stop();
    provider.kill();
    await once(provider, 'exit');
    await rm(root, { recursive: true, force: true });
  }
}

async function compareThroughput(bench: Bench, sides: readonly GatewaySide[], root: string): Promise<void> {
  const comparison = await compare(
    await Promise.all(
      sides.map(async ({ name, port, path: target, headers, model }) => {
        const script = path.join(root, `${name}.lua`);
        const body = JSON.stringify(request(model));
        await writeFile(
          script,
          `wrk.method = "POST"\nwrk.body = ${body}\nwrk.headers["Content-Type"] = "application/json"\n`,
        );
        const options = { connections: CONNECTIONS, seconds: SECONDS, headers, script };
        return {
          name,
          measure: async () => (await loadWarm(`http://127.0.0.1:${port}${target}`, options)).perSecond,
        };
      }),
    ),
  );
  const names = sides.map(({ name }) => name);
  bench.report(`model gateway, ${CONNECTIONS} connections`, 'requests/s', comparison, names);
}

/** Measures the time to the first byte of streams that run one after the other. */
async function compareFirstBytes(sides: readonly GatewaySide[]): Promise<void> {
  const percentiles = sides.map((): { p50: number; p99: number }[] => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, side] of sides.entries()) {
      const times: number[] = [];
      for (let stream = 0; stream < STREAMS; stream++) times.push(await firstByteMs(side));
      times.sort((a, b) => a - b);
      if (round > 0)
        percentiles[index]!.push({ p50: times[STREAMS / 2]!, p99: times[Math.floor(STREAMS * 0.99)]! });
    }
  }
  for (const percentile of ['p50', 'p99'] as const) {
    const medians = percentiles.map((rounds) => median(rounds.map((round) => round[percentile])));
    const direct = medians.at(-1)!;
    const added = medians
      .slice(0, -1)
      .map((ms, index) => `${sides[index]!.name} ${(ms - direct).toFixed(2)}`);
    process.stdout.write(`added time to the first streamed byte, ${percentile}: ${added.join(', ')} ms\n`);
  }
}

const agent = new http.Agent({ keepAlive: true });

function firstByteMs({ port, path: target, headers, model }: GatewaySide): Promise<number> {
  const body = request(model, true);
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    let first = 0;
    const outgoing = http.request(
      {
        agent,
        host: '127.0.0.1',
        port,
        path: target,
        method: 'POST',
        headers: {
          ...headers,
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
        },
      },
      (response) => {
        if (response.statusCode !== 200) reject(new Error(`${target}: ${response.statusCode}`));
        response.on('data', () => (first ||= performance.now() - startedAt));
        response.on('end', () => resolve(first)).on('error', reject);
      },
    );
    outgoing.on('error', reject).end(body);
  });
}

async function newModel(
  { http: client, scope }: Bench,
  port: number,
  record_spans: boolean,
): Promise<string> {
  const name = `bench-${record_spans}-${Date.now()}`;
  const { provider_id } = await client.json<{ provider_id: string }>('POST', '/model/v1/providers', 201, {
    workspace_id: scope.workspaceId,
    name,
    kind: 'openai',
    base_url: `http://127.0.0.1:${port}/v1`,
    api_key: 'sk-bench',
  });
  const price = { input_usd_per_million: 0.15, output_usd_per_million: 0.6 };
  await client.json('POST', '/model/v1/models', 201, {
    workspace_id: scope.workspaceId,
    name,
    record_spans,
    targets: [{ provider_id, upstream_model: 'gpt-4o-mini', price }],
  });
  return name;
}
