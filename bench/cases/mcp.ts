import http from 'node:http';
import { Client, StreamableHTTPClientTransport, type Tool } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { Bench } from '../bench';
import { Http } from '../http';
import { BareMcpServer, type Era, ERAS, resultOf } from '../mcp';
import { compare, timeCalls } from '../measure';

const CALLS = 200;
const CLIENTS = 4;
const TOOLS = 1_000;
const PAGE = 100;

/** `tools/list`, and reading a skill, against the SDK's bare server with the same tools and the same result. */
export async function mcpEndpoint(bench: Bench): Promise<void> {
  const read = { name: READ_TOOL, arguments: { skill_id: await newSkill(bench) } };
  const [legacy] = ERAS;
  const { tools } = await ask<{ tools: Tool[] }>(bench.http, legacy!, 'tools/list');
  const result = await ask<CallToolResult>(bench.http, legacy!, 'tools/call', read);
  if (result.isError) throw new Error(JSON.stringify(result));
  const bare = await BareMcpServer.start({ pages: [tools], result });
  const direct = new Http(bare.url, {}, CLIENTS);
  try {
    for (const era of ERAS) {
      for (const [title, method, params] of [
        [`tools/list of ${tools.length} tools`, 'tools/list', undefined],
        [`${READ_TOOL} of ${JSON.stringify(result).length} bytes`, 'tools/call', read],
      ] as const) {
        const perSecond = (client: Http) => async () =>
          (CALLS * 1000) / (await timeCalls(CALLS, CLIENTS, () => send(client, era, method, params)));
        const comparison = await compare([
          { name: 'bare', measure: perSecond(direct) },
          { name: 'service', measure: perSecond(bench.http) },
        ]);
        bench.report(`${title}, ${era.name}, ${CLIENTS} clients`, 'requests/s', comparison, ['bare', 'service']);
      }
    }
  } finally {
    direct.close();
    await bare.stop();
  }
}

/** Refreshes a server with 1,000 tools for the first time, and unchanged, against only listing them. Milliseconds. */
export async function refreshServer(bench: Bench): Promise<void> {
  const tools = Array.from({ length: TOOLS }, (_, n): Tool => toolOf(n));
  const pages = Array.from({ length: TOOLS / PAGE }, (_, n) => tools.slice(n * PAGE, (n + 1) * PAGE));
  const bare = await BareMcpServer.start({ pages, result: { content: [] } });
  try {
    let path = '';
    const refresh = async (): Promise<number> => {
      const startedAt = performance.now();
      await bench.http.send('POST', path, 200);
      return performance.now() - startedAt;
    };
    const comparison = await compare([
      { name: 'list', measure: () => listTools(bare.url) },
      {
        name: 'first',
        measure: async (round) => {
          const { server_id } = await bench.http.json<{ server_id: string }>('POST', '/mcp/v1/servers', 201, {
            workspace_id: bench.scope.workspaceId,
            name: `bench ${round} ${Date.now()}`,
            url: bare.url.href,
          });
          path = `/mcp/v1/servers/${server_id}/refresh`;
          return refresh();
        },
      },
      { name: 'unchanged', measure: refresh },
    ]);
    bench.report(`refresh of a server with ${TOOLS} tools`, 'ms', comparison, ['list', 'first', 'unchanged']);
  } finally {
    await bare.stop();
  }
}
