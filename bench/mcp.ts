import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { BareMcp } from './bare-mcp.child';

/** The SDK's bare server in a separate process. */
export class BareMcpServer {
  private constructor(
    private readonly child: ReturnType<typeof fork>,
    readonly url: URL,
  ) {}

  static async start(responses: BareMcp): Promise<BareMcpServer> {
    const child = fork(path.join(__dirname, 'bare-mcp.child.js'));
    child.send(responses);
    const [port] = (await once(child, 'message')) as [number];
    return new BareMcpServer(child, new URL(`http://127.0.0.1:${port}/mcp`));
  }

  async stop(): Promise<void> {
    this.child.kill();
    await once(this.child, 'exit');
  }
}

/** A protocol era, and how its stateless clients send a request. */
export interface Era {
  name: string;
  headers(method: string, name?: string): Record<string, string>;
  body(method: string, params?: object): string;
}

const ACCEPT = 'application/json, text/event-stream';

export const ERAS: readonly Era[] = [
  {
    name: '2025-11-25',
    headers: () => ({ Accept: ACCEPT, 'MCP-Protocol-Version': '2025-11-25' }),
    body: (method, params) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  },
  {
    name: '2026-07-28',
    headers: (method, name) => ({
      Accept: ACCEPT,
      'MCP-Protocol-Version': '2026-07-28',
      'Mcp-Method': method,
      ...(name && { 'Mcp-Name': name }),
    }),
    body: (method, params) => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1.0.0' },
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } });
    },
  },
];

/** Returns the JSON-RPC result in a response, which is JSON or one event of a stream. */
export function resultOf<Result>(body: Buffer): Result {
  const text = body.toString();
  const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
  const { result, error } = JSON.parse(data) as { result?: Result; error?: { message: string } };
  if (result === undefined) throw new Error(error?.message ?? text);
  return result;
}
