import { expandRoles, workspaceScope } from '#platform/auth';
import { type Problem } from '#platform/problem';
import { sharedApp } from '#testing';
import { ToolCaller } from '../../../src/mcp-servers';
import { type Script, SCRIPTED_KINDS, ScriptedMcpServer } from './scripted-mcp-server.fixture';
import { SERVERS, ServersFixture } from './servers.fixture';

const NULLS = { title: null, icons: null, websiteUrl: null, description: null };
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
const BLOCK_NULLS = { annotations: null, _meta: null };
const CAPABILITIES = ['completions', 'experimental', 'logging', 'prompts', 'resources', 'tasks'];
const NO_OTHERS = Object.fromEntries(CAPABILITIES.map((name) => [name, null]));

/** Changes what the server says about itself, in either revision. */
const described = (change: (usual: any) => object): Script => ({
  initialize: (usual) => ({ result: { ...usual, ...change(usual) } }),
  'server/discover': (usual) => ({ result: { ...usual, ...change(usual) } }),
});
const listed = (change: (tool: any) => object): Script => ({
  'tools/list': (usual) => ({ result: { ...usual, ...change(usual.tools[0]) } }),
});
const called = (change: object): Script => ({
  'tools/call': (usual) => ({ result: { ...usual, ...change } }),
});

const DONE = { content: [{ type: 'text', text: 'done' }] };

/** What servers that do not omit null send, and how a call of the tool `a` ends. */
const QUIRKS: [string, Script, object][] = [
  ['`error` beside a result', { '*': (result) => ({ result, error: null }) }, DONE],
  ['`instructions` and `_meta`', described(() => ({ instructions: null })), DONE],
  [
    'members of `serverInfo`',
    described(({ serverInfo }) => (serverInfo ? { serverInfo: { ...serverInfo, ...NULLS } } : {})),
    DONE,
  ],
  [
    'members of `serverInfo` in `_meta`',
    {
      'server/discover': (usual) => ({
        result: {
          ...usual,
          _meta: { [SERVER_INFO]: { name: 'scripted', version: '1', ...NULLS } },
        },
      }),
    },
    DONE,
  ],
  [
    'other capabilities',
    described(() => ({ capabilities: { tools: { listChanged: null }, ...NO_OTHERS } })),
    DONE,
  ],
  ['the capability `tools`', described(() => ({ capabilities: { tools: null } })), DONE],
  ['`capabilities`', described(() => ({ capabilities: null })), DONE],
  ['`serverInfo`', described(({ serverInfo }) => (serverInfo ? { serverInfo: null } : {})), DONE],
  ['`nextCursor` and `_meta` of a list', listed(() => ({ nextCursor: null, _meta: null })), DONE],
  [
    'members of a tool',
    listed((tool) => ({
      tools: [{ ...tool, ...NULLS, ...BLOCK_NULLS, outputSchema: null, execution: null }],
    })),
    DONE,
  ],
  [
    'members of the annotations of a tool',
    listed((tool) => ({ tools: [{ ...tool, annotations: { title: null, readOnlyHint: null } }] })),
    DONE,
  ],
  [
    'members of a result',
    called({ structuredContent: null, isError: null, _meta: null }),
    { content: DONE.content },
  ],
  [
    'members of content',
    called({
      content: [
        { type: 'text', text: 'done', ...BLOCK_NULLS },
        {
          type: 'resource',
          resource: { uri: 'x:1', text: 'x', mimeType: null, _meta: null },
          ...BLOCK_NULLS,
        },
        { type: 'resource_link', uri: 'x:2', name: 'x', size: null, ...NULLS, ...BLOCK_NULLS },
      ],
    }),
    {
      content: [
        { type: 'text', text: 'done' },
        { type: 'resource', resource: { uri: 'x:1', text: 'x' } },
        { type: 'resource_link', uri: 'x:2', name: 'x' },
      ],
    },
  ],
  [
    '`content` beside structured content',
    called({ content: null, structuredContent: { x: 1 } }),
    { content: [], structuredContent: { x: 1 } },
  ],
  [
    'values within data, which stay',
    {
      ...called({ structuredContent: { x: null, list: [null, { y: null }] }, _meta: { z: null } }),
      ...listed((tool) => ({
        tools: [
          { ...tool, inputSchema: { type: 'object', properties: { q: { default: null, const: null } } } },
        ],
      })),
    },
    { ...DONE, structuredContent: { x: null, list: [null, { y: null }] }, _meta: { z: null } },
  ],
];

describe('a server that sends null for', () => {
  const app = sharedApp({ env: { OUTBOUND_ALLOW: '127.0.0.0/8' } });
  let on: ServersFixture;

  beforeAll(async () => {
    on = await ServersFixture.create(app);
  });

  /** Registers a scripted server for the time of some work. */
  async function withServer(
    kind: (typeof SCRIPTED_KINDS)[number],
    script: Script,
    work: (path: string, call: (args?: object) => Promise<any>) => Promise<void>,
  ): Promise<void> {
    const remote = await ScriptedMcpServer.start(kind, script);
    try {
      const { server_id } = (await on.register(remote.registration)).body;
      const { orgId, workspaceId } = on.org;
      const scope = workspaceScope(orgId, workspaceId, 'usr_test', expandRoles(['runtime']));
      await work(`${SERVERS}/${server_id}`, (args = {}) => {
        const call = { server_id, tool_name: 'a', arguments: { ...args } };
        return app.get(ToolCaller).call(scope, call, new AbortController().signal);
      });
    } finally {
      await remote.close();
    }
  }

  it.each(QUIRKS)('%s can be used over every transport', async (_, script, expected) => {
    for (const kind of SCRIPTED_KINDS) {
      await withServer(kind, script, async (path, call) => {
        const { body } = await on.editor.post(`${path}/test`);
        expect([kind, body]).toEqual([kind, expect.objectContaining({ ok: true })]);
        expect(body.tools).toEqual({ added: ['a'], updated: [], archived: [], unchanged_count: 0 });
        const { content, structuredContent, isError, ...others } = await call();
        const { resultType: _r, ...more } = others;
        const result = { content, ...(structuredContent && { structuredContent }), ...more };
        expect([kind, isError, result]).toEqual([kind, undefined, expected]);
      });
    }
  });

  it('values within the schema of a tool keeps them', async () => {
    const script = QUIRKS.at(-1)![1];
    await withServer('json', script, async (path) => {
      await on.editor.post(`${path}/refresh`);
      const { items } = (await on.editor.get(`${path}/tools`)).body;
      expect(items[0].input_schema.properties).toEqual({ q: { default: null, const: null } });
    });
  });

  it('`tools` has an empty list of tools', async () => {
    for (const kind of SCRIPTED_KINDS) {
      await withServer(
        kind,
        listed(() => ({ tools: null })),
        async (path) => {
          const { body } = await on.editor.post(`${path}/test`);
          expect([kind, body.ok, body.tools?.added]).toEqual([kind, true, []]);
        },
      );
    }
  });

  it('`capabilities` keeps its tools while it fails to list them', async () => {
    const broken = { error: { code: -32603, message: 'out of order' } };
    const unknown = { error: { code: -32601, message: 'Method not found' } };
    for (const kind of SCRIPTED_KINDS) {
      let failure: object | number | null = null;
      const script: Script = {
        ...described(() => ({ capabilities: null })),
        'tools/list': (usual) => (failure as never) ?? { result: usual },
      };
      await withServer(kind, script, async (path) => {
        expect((await on.editor.post(`${path}/refresh`)).body.added).toEqual(['a']);
        for (failure of [502, 401, 0, broken]) {
          const { status } = await on.editor.post(`${path}/refresh`);
          const { items } = (await on.editor.get(`${path}/tools`)).body;
          expect([kind, failure, status, items.length]).toEqual([kind, failure, 503, 1]);
        }
        failure = unknown;
        expect([kind, (await on.editor.post(`${path}/refresh`)).body.archived]).toEqual([kind, ['a']]);
      });
    }
  });

  it('the schema of a tool keeps that tool out by name', async () => {
    const script = listed((tool) => ({ tools: [{ name: 'b', inputSchema: null }, tool, { name: 'c' }] }));
    for (const kind of SCRIPTED_KINDS) {
      await withServer(kind, script, async (path) => {
        const { body } = await on.editor.post(`${path}/refresh`);
        const reason = 'inputSchema is required';
        const skipped = ['b', 'c'].map((name) => ({ name, reason }));
        expect([kind, body.added, body.skipped]).toEqual([kind, ['a'], skipped]);
      });
    }
  });

  it('`result` beside an error reports the error', async () => {
    const error = { code: -32000, message: 'out of order', data: null };
    for (const kind of SCRIPTED_KINDS) {
      await withServer(kind, { 'tools/call': () => ({ result: null, error }) }, async (path, call) => {
        await on.editor.post(`${path}/refresh`);
        const { status, detail } = await call().catch((failure: unknown) => failure as Problem);
        expect([kind, status, detail]).toEqual([kind, 503, expect.stringContaining('-32000: out of order')]);
      });
    }
  });

  it('nothing gets null arguments unchanged', async () => {
    const echo: Script = {
      'tools/call': (_, params) => ({ result: { content: [], structuredContent: params } }),
    };
    await withServer('json', echo, async (path, call) => {
      await on.editor.post(`${path}/refresh`);
      expect((await call({ x: null })).structuredContent.arguments).toEqual({ x: null });
    });
  });
});
