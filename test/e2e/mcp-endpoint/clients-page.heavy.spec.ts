import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { sharedApp, newOrganization } from '#testing';

const PAGE = 'docs/guides/mcp-clients.md';

const run = promisify(execFile);

interface Block {
  section: string;
  language: string;
  text: string;
}

/** The code blocks of the page, each with the heading above it. */
const BLOCKS: Block[] = readFileSync(PAGE, 'utf8')
  .split(/^## /m)
  .flatMap((part) =>
    [...part.matchAll(/^```(\w+)(?: \S+)?\n(.*?)^```$/gms)].map(([, language, text]) => ({
      section: part.split('\n', 1)[0]!,
      language: language!,
      text: text!,
    })),
  );

const blocksOf = (language: string): [string, string][] =>
  BLOCKS.filter((block) => block.language === language).map(({ section, text }) => [section, text]);

/** The connection of a client, with its variables replaced. */
interface Connection {
  url: string;
  headers: Record<string, string>;
}

/** The values of the page's placeholders. */
interface Values {
  url: string;
  key: string;
  workspaceId: string;
}

const URL_MEMBERS = ['url', 'httpUrl', 'serverUrl', 'server_url'];

/**
 * Returns each server that a configuration describes: an object with a URL, or a command with the URL among its
 * arguments.
 */
function serversIn(config: unknown): Record<string, any>[] {
  if (typeof config !== 'object' || config === null) return [];
  const isServer = URL_MEMBERS.some((member) => member in config) || 'command' in config;
  return isServer ? [config] : Object.values(config).flatMap(serversIn);
}

function connectionOf(server: Record<string, any>, values: Values): Connection {
  const variables: Record<string, string> = {
    SERVICE_URL: values.url,
    SERVICE_API_KEY: values.key,
    SERVICE_WORKSPACE_ID: values.workspaceId,
    'registry-api-key': values.key,
    'registry-workspace': values.workspaceId,
  };
  const fill = (text: string): string =>
    text
      .replace('https://registry.example.com', values.url)
      .replace('rsk_…', values.key)
      .replace('wsp_…', values.workspaceId);
  const own = Object.fromEntries(
    Object.entries((server.env ?? {}) as Record<string, string>).map(([name, value]) => [name, fill(value)]),
  );
  const expand = (text: string): string =>
    fill(text).replace(/\$\{(?:env:|input:)?([\w-]+)\}/g, (_, name: string) => {
      const value = own[name] ?? variables[name];
      if (value === undefined) throw new Error(`${name} is not explained`);
      return value;
    });
  if (server.command === undefined) {
    const [member] = URL_MEMBERS.filter((name) => name in server);
    const headers = Object.entries((server.headers ?? {}) as Record<string, string>);
    const { authorization_token: token } = server;
    return {
      url: expand(server[member!]),
      headers: {
        ...Object.fromEntries(headers.map(([name, value]) => [name, expand(value)])),
        ...(token && { Authorization: `Bearer ${expand(token)}` }),
      },
    };
  }
  const args: string[] = server.args.map(expand);
  const pairs = args.filter((_, n) => args[n - 1] === '--header').map((header) => header.split(/:(.*)/s, 2));
  return { url: args.find((arg) => arg.startsWith('http'))!, headers: Object.fromEntries(pairs) };
}

/** Parses the subset of TOML that the page uses: tables, strings and inline tables of strings. */
function parseToml(text: string): Record<string, any> {
  const root: Record<string, any> = {};
  let table = root;
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const [, header] = /^\[([\w.]+)\]$/.exec(line) ?? [];
    const [, name, value] = /^(\w+) = (.+)$/.exec(line) ?? [];
    if (header) table = header.split('.').reduce((at, part) => (at[part] ??= {}), root);
    else if (name) table[name] = JSON.parse(value!.replace(/("[\w-]+") = /g, '$1: '));
    else throw new Error(`not TOML: ${line}`);
  }
  return root;
}

describe('the page about MCP clients', () => {
  const app = sharedApp();
  let values: Values;

  beforeAll(async () => {
    const org = await newOrganization(app);
    const { key } = await org.serviceAccount('viewer');
    values = { url: app.url, key, workspaceId: org.workspaceId };
  });

  const environment = (): NodeJS.ProcessEnv => ({
    ...process.env,
    SERVICE_URL: values.url,
    SERVICE_API_KEY: values.key,
    SERVICE_WORKSPACE_ID: values.workspaceId,
  });

  /** Connects like the client, and searches. Opens a session first if there is no workspace header. */
  async function search({ url, headers }: Connection): Promise<unknown> {
    const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    try {
      const args: Record<string, unknown> = { query: 'refunds' };
      if (!('X-Service-Workspace-Id' in headers)) {
        const opened = await client.callTool({ name: 'mcp__initialise', arguments: {} });
        args.session_handle = (opened.structuredContent as { session_handle: string }).session_handle;
      }
      return (await client.callTool({ name: 'search_registry', arguments: args })).structuredContent;
    } finally {
      await client.close();
    }
  }

  it.each(blocksOf('json'))('has a configuration for %s that connects', async (_, text) => {
    const servers = serversIn(JSON.parse(text));
    expect(servers).toHaveLength(1);
    const connection = connectionOf(servers[0]!, values);
    expect(new URL(connection.url).pathname).toBe('/mcp');
    expect(await search(connection)).toEqual({ items: [], next_offset: null });
  });

  it.each(blocksOf('toml'))('has a configuration for %s that connects', async (_, text) => {
    const { registry } = parseToml(text).mcp_servers;
    const env = environment();
    const headers: Record<string, string> = { Authorization: `Bearer ${env[registry.bearer_token_env_var]}` };
    for (const [name, variable] of Object.entries(registry.env_http_headers as Record<string, string>)) {
      headers[name] = env[variable]!;
    }
    const { url } = connectionOf({ url: registry.url }, values);
    expect(await search({ url, headers })).toEqual({ items: [], next_offset: null });
  });

  it.each(blocksOf('js'))('has an example for %s that runs as written', async (_, text) => {
    const args = ['--input-type=module', '--eval', text];
    const { stdout } = await run(process.execPath, args, { env: environment() });
    expect(stdout).toMatch(/^\d+ \{ items: \[\], next_offset: null \}\n$/);
  });

  const hasPython = spawnSync('python3', ['--version']).status === 0;
  (hasPython ? it : it.skip).each(blocksOf('python'))(
    'has an example for %s that compiles',
    async (_, text) => {
      await run('python3', ['-c', `compile(${JSON.stringify(text)}, 'example', 'exec')`]);
    },
  );

  it.each([...blocksOf('sh'), ...blocksOf('console')])(
    'has commands for %s that a shell accepts',
    async (_, text) => {
      await run('bash', ['-n', '-c', text]);
    },
  );

  it('names only tools that exist, and covers every client with an example', async () => {
    const page = readFileSync(PAGE, 'utf8');
    const lists = [...page.matchAll(/"allowed_tools": (\[.*?\])/gs)].map(([, list]) => JSON.parse(list!));
    const { headers } = connectionOf({ url: '', headers: { Authorization: 'Bearer rsk_…' } }, values);
    const client = new Client({ name: 'test', version: '1.0.0' });
    const transport = new StreamableHTTPClientTransport(new URL('/mcp', app.url), {
      requestInit: { headers },
    });
    await client.connect(transport);
    const { tools } = await client.listTools();
    await client.close();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(lists.flat()));
    const sections = page.match(/^## .*$/gm)!.map((heading) => heading.slice(3));
    const sectionsWithBlocks = new Set(BLOCKS.map(({ section }) => section));
    expect(sections.filter((section) => !sectionsWithBlocks.has(section))).toEqual(['See also']);
  });
});
