import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';

/** The tool of {@link OrdersServer}. */
const REFUND_STATUS = {
  description: 'Tells whether the refund of an order is paid.',
  inputSchema: fromJsonSchema<{ order_id: string }>({
    type: 'object',
    properties: { order_id: { type: 'string' } },
    required: ['order_id'],
  }),
  outputSchema: fromJsonSchema<{ order_id: string; is_paid: boolean }>({
    type: 'object',
    properties: { order_id: { type: 'string' }, is_paid: { type: 'boolean' } },
    required: ['order_id', 'is_paid'],
  }),
};

/** A tenant's MCP server that uses the official SDK. It requires a token and has one tool. */
export class OrdersServer {
  private constructor(
    private readonly server: http.Server,
    readonly token: string,
  ) {}

  static async listen(token: string): Promise<OrdersServer> {
    const handler = toNodeHandler(createMcpHandler(() => ordersServer()));
    const server = http.createServer((request, response) => {
      if (request.headers.authorization === `Bearer ${token}`) void handler(request, response);
      else response.writeHead(401).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new OrdersServer(server, token);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/mcp`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }
}

function ordersServer(): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' });
  server.registerTool('refund_status', REFUND_STATUS, ({ order_id }) => {
    const status = { order_id, is_paid: true };
    return { content: [{ type: 'text', text: JSON.stringify(status) }], structuredContent: status };
  });
  return server;
}
