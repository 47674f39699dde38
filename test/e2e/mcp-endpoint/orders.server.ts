import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server } from '@modelcontextprotocol/server';

/** The tool of {@link OrdersServer}. */
const REFUND_STATUS = {
  name: 'refund_status',
  description: 'Tells whether the refund of an order is paid.',
  inputSchema: {
    type: 'object' as const,
    properties: { order_id: { type: 'string' } },
    required: ['order_id'],
  },
  outputSchema: {
    type: 'object' as const,
    properties: { order_id: { type: 'string' }, is_paid: { type: 'boolean' } },
    required: ['order_id', 'is_paid'],
  },
};

/** A tenant's MCP server, written with the official SDK: it requires a token, and has one tool. */
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

function ordersServer(): Server {
  const server = new Server({ name: 'orders', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [REFUND_STATUS] }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const status = { order_id: params.arguments?.order_id, is_paid: true };
    return { content: [{ type: 'text', text: JSON.stringify(status) }], structuredContent: status };
  });
  return server;
}
