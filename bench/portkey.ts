import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const START_MS = 30_000;

/**
 * `@portkey-ai/gateway` in a separate process, as its users run it, without its console. `bench/peers/package.json` pins its
 * `@hono/node-server`, because with 1.19 every stream that it forwards fails.
 */
export class Portkey {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  static async start(): Promise<Portkey> {
    const port = await freePort();
    const script = path.resolve('bench/peers/node_modules/@portkey-ai/gateway/build/start-server.js');
    const child = spawn(process.execPath, [script, `--port=${port}`, '--headless'], { stdio: 'ignore' });
    for (const deadline = Date.now() + START_MS; Date.now() < deadline; await delay(200)) {
      const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
      if (response?.ok) return new Portkey(child, port);
    }
    child.kill();
    throw new Error('@portkey-ai/gateway did not start.');
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
