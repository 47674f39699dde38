import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server, type CallToolResult, type Tool } from '@modelcontextprotocol/server';

/** The responses of the bare server. */
export interface BareMcp {
  /** The tools of each page; the cursor of a page is its index. */
  pages: Tool[][];
  /** The result of every call. */
  result: CallToolResult;
}

// The SDK's own server as its documentation builds it, without authentication, database or audit log, in a separate
// process. It receives its responses from the benchmark, and sends back its port.
process.once('message', ({ pages, result }: BareMcp) => {
  const handler = createMcpHandler(() => {
    // oxlint-disable-next-line typescript/no-deprecated -- the faster of the SDK's two servers
    const server = new Server({ name: 'bare', version: '1.0.0' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', ({ params }) => {
      const page = Number(params?.cursor ?? 0);
      return {
        tools: pages[page] ?? [],
        ...(page + 1 < pages.length && { nextCursor: String(page + 1) }),
      };
    });
    server.setRequestHandler('tools/call', () => result);
    return server;
  });
  const listener = toNodeHandler(handler);
  const server = http.createServer((request, response) => void listener(request, response));
  server.listen(0, '127.0.0.1', () => process.send!((server.address() as AddressInfo).port));
});
