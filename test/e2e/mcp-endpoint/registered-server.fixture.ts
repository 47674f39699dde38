import { once } from 'node:events';
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { type CallToolResult, createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import * as z from 'zod/v4';

/** An MCP server that uses the official SDK, for tests to register. */
export class RegisteredServer {
  /** The number of calls that were aborted by the caller. */
  aborted = 0;
  /** The number of calls of `hang` that have started. */
  started = 0;

  private constructor(private readonly http: HttpServer) {}

  static async start(): Promise<RegisteredServer> {
    const http = createServer();
    const registered = new RegisteredServer(http);
    const handle = toNodeHandler(createMcpHandler(() => registered.server()));
    http.on('request', (request, response) => void handle(request, response));
    http.listen(0, '127.0.0.1');
    await once(http, 'listening');
    return registered;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/mcp`;
  }

  async close(): Promise<void> {
    this.http.closeAllConnections();
    this.http.close();
    await once(this.http, 'close');
  }

  private server(): McpServer {
    const server = new McpServer({ name: 'registered', version: '1.0.0' });
    const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });
    const inputSchema = z.object({ text: z.string().optional(), count: z.number().optional() });
    const add = (name: string, run: (args: z.infer<typeof inputSchema>) => CallToolResult): void =>
      void server.registerTool(name, { description: `The tool ${name}.`, inputSchema }, run);
    add('echo', ({ text: value = '' }) => text(value));
    add('repeat', ({ text: value = 'x', count = 1 }) => text(value.repeat(count)));
    add('structured', () => ({ content: [], structuredContent: { degrees: 21 } }));
    add('fail', () => ({ ...text('No such city.'), isError: true }));
    add('picture', ({ count = 8 }) => ({
      content: [
        { type: 'text', text: 'A picture.' },
        { type: 'image', mimeType: 'image/png', data: Buffer.alloc(count).toString('base64') },
      ],
    }));
    add('burdened', ({ text: kind, count = 0 }) => {
      const burden = { annotations: { priority: 1 }, _meta: { 'example.com/burden': 'x'.repeat(count) } };
      return {
        content:
          kind === 'text'
            ? [{ type: 'text', text: 'light', ...burden }]
            : [{ type: 'image', mimeType: `image/${'x'.repeat(count)}`, data: '', ...burden }],
      };
    });
    server.registerTool('hang', { description: 'Never ends.', inputSchema }, async (_, { mcpReq }) => {
      this.started += 1;
      await once(mcpReq.signal, 'abort');
      this.aborted += 1;
      return text('aborted');
    });
    return server;
  }
}
