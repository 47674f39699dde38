import {
  type CallToolResult,
  Client,
  StreamableHTTPClientTransport,
  type Tool,
} from '@modelcontextprotocol/client';
import type { Bench } from '../bench';
import { Http } from '../http';
import { compare, timeCalls } from '../measure';
import { BareMcpServer, type Era, ERAS, resultOf } from '../mcp';

const CALLS = 200;
const CLIENTS = 4;
const TOOLS = 1_000;
const PAGE = 100;
const READ_TOOL = 'get_skill';

/** Lists tools and reads a skill, compared with the SDK's bare server that has the same tools and result. */
export async function mcpEndpoint(bench: Bench): Promise<void> {
  const read = { name: READ_TOOL, arguments: { skill_id: await newSkill(bench) } };
  const request = async <Result>(method: string, params?: object): Promise<Result> =>
    resultOf<Result>(await send(bench.http, ERAS[0]!, method, params));
  const { tools } = await request<{ tools: Tool[] }>('tools/list');
  const result = await request<CallToolResult>('tools/call', read);
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
        bench.report(`${title}, ${era.name}, ${CLIENTS} clients`, 'requests/s', comparison, [
          'bare',
          'service',
        ]);
      }
    }
  } finally {
    direct.close();
    await bare.stop();
  }
}

/** Refreshes a server with 1,000 tools, first new and then unchanged, in milliseconds. The baseline only lists the tools. */
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

/** Sends a request as a client of the era. Returns the body of the response. */
async function send(client: Http, era: Era, method: string, params?: { name?: string }): Promise<Buffer> {
  const headers = era.headers(method, params?.name);
  const body = era.body(method, params);
  return (await client.send('POST', '/mcp', 200, body, 'application/json', headers)).body;
}

async function newSkill({ http, scope }: Bench): Promise<string> {
  const skill = {
    workspace_id: scope.workspaceId,
    name: `read-${Date.now()}`,
    description: 'Answers questions about refunds.',
    instructions: 'Look up the order, then its payment. '.repeat(50),
  };
  return (await http.json<{ skill_id: string }>('POST', '/skill/v1/skills', 201, skill)).skill_id;
}

/** Returns a tool of about 600 bytes, a typical size. */
const toolOf = (n: number): Tool => ({
  name: `tool_${n}`,
  description: `Finds the tickets of queue ${n} that match a query. ${'Newest first. '.repeat(10)}`,
  inputSchema: {
    type: 'object',
    properties: {
      query: { type: 'string', description: 'Words that a ticket contains.' },
      limit: { type: 'integer', minimum: 1, maximum: 100 },
      status: { type: 'string', enum: ['open', 'waiting', 'closed'] },
    },
    required: ['query'],
  },
  annotations: { readOnlyHint: true },
});

/** Lists all tools with the SDK's client over a new connection. Returns milliseconds. */
async function listTools(url: URL): Promise<number> {
  const startedAt = performance.now();
  const client = new Client(
    { name: 'bench', version: '1.0.0' },
    { versionNegotiation: { mode: 'auto' }, listMaxPages: 0 },
  );
  await client.connect(new StreamableHTTPClientTransport(url));
  const { tools } = await client.listTools();
  if (tools.length !== TOOLS) throw new Error(`${tools.length} tools`);
  await client.close();
  return performance.now() - startedAt;
}
