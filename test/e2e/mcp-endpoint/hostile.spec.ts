import { gzipSync } from 'node:zlib';
import { type ApiClient, sharedApp } from '#testing';
import { populate, type Population, ToolsFixture } from './population.fixture';

/** Messages and arguments that no well-behaved client sends. */
describe('hostile requests to the MCP endpoint', () => {
  const app = sharedApp();
  let has: Population;
  let on: ToolsFixture;
  let api: ApiClient;

  beforeAll(async () => {
    has = await populate(app);
    on = await ToolsFixture.create(app, has.org, 'admin');
    api = app.api(await has.org.token('admin'));
  });
  afterAll(async () => {
    await on.client.close();
  });

  const message = (method: string, params?: unknown, id: unknown = 1) => ({
    jsonrpc: '2.0',
    id,
    method,
    params,
  });
  const callText = (args: string): string =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_agents","arguments":${args}}}`;

  describe('with arguments', () => {
    it.each<[string, string, Record<string, unknown>, string]>([
      ['of the wrong type', 'list_agents', { limit: 'many' }, 'limit'],
      ['that are null', 'get_agent', { agent_id: null }, 'agent_id'],
      ['that are objects', 'get_agent', { agent_id: { $ne: null } }, 'agent_id'],
      ['out of range', 'list_agents', { limit: 51 }, 'limit: must be <= 50'],
      ['below the range', 'read_file', { file_id: 'x', offset: -1 }, 'offset'],
      ['that are fractions', 'list_agents', { limit: 1.5 }, 'limit'],
      [
        'that the tool does not have',
        'list_agents',
        { filter: 'x' },
        'filter: is not an argument of list_agents',
      ],
      ['named constructor', 'list_agents', { constructor: { prototype: {} } }, 'constructor'],
      ['that are missing', 'get_agent', {}, 'agent_id: is required'],
      ['that are empty', 'get_agent', { agent_id: '' }, 'agent_id'],
      ['with unknown values', 'search_registry', { query: 'x', types: ['secret'] }, 'types/0'],
      ['that are very long', 'search_registry', { query: 'x'.repeat(100_000) }, 'query'],
      [
        'with too many values',
        'start_scoring_run',
        { scorer_id: 'x', trace_ids: Array(101).fill('x') },
        'trace_ids',
      ],
    ])('%s return an error that names the argument', async (_, tool, args, expected) => {
      const { code, text } = await on.problem(tool, args);
      expect([code, text]).toEqual(['invalid_request', expect.stringContaining(expected)]);
      expect(text.length).toBeLessThan(2_000);
    });

    it('change no prototype if one is named __proto__', async () => {
      const text = callText('{"workspace_id":"x","__proto__":{"limit":1},"constructor":{"x":1}}');
      const { status, body } = await api.post('/mcp', text);
      expect([status, body.result.isError]).toEqual([200, true]);
      expect(({} as { limit?: number }).limit).toBeUndefined();
    });

    it.each(['\u0000', 'a\u0000b'])('are rejected if they contain a NUL character', async (query) => {
      const { status, body } = await api.post(
        '/mcp',
        message('tools/call', { name: 'list_agents', arguments: { q: query } }),
      );
      expect([status, body.error.code]).toEqual([400, -32700]);
    });

    it('are rejected if they contain a lone surrogate', async () => {
      const { status, body } = await api.post('/mcp', callText('{"q":"\\ud800"}'));
      expect([status, body.error.code]).toEqual([400, -32700]);
    });

    it.each([
      ['an unknown cursor', { cursor: 'x' }],
      ['the cursor of another list', { cursor: Buffer.from('["x"]').toString('base64url') }],
    ])('are rejected if they contain %s', async (_, args) => {
      expect((await on.problem('list_agents', args)).status).toBe(400);
    });

    it.each(["'; DROP TABLE agents; --", '../../etc/passwd', '%00', '\\', '*', 'agt_' + 'z'.repeat(200)])(
      'return not_found for the unknown id %s',
      async (id) => expect((await on.problem('get_agent', { agent_id: id })).code).toBe('not_found'),
    );
  });

  describe('with messages', () => {
    it.each([
      ['that are not JSON', '{"jsonrpc"'],
      ['that are empty', ''],
      ['nested 65 levels', '['.repeat(65) + ']'.repeat(65)],
      ['with arguments nested 65 levels', callText('{"a":'.repeat(65) + '1' + '}'.repeat(65))],
      ['nested 9,000 levels', '['.repeat(9_000) + ']'.repeat(9_000)],
      ['with arguments nested 9,000 levels', callText('{"a":'.repeat(9_000) + '1' + '}'.repeat(9_000))],
      ['that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
      ['with a number that a double cannot hold', callText('{"limit":1e999}')],
    ])('%s return 400 with a parse error', async (_, body) => {
      const answer = await api.post('/mcp', body);
      expect([answer.status, answer.body.error.code, answer.body.id]).toEqual([400, -32700, null]);
    });

    it.each([
      ['that are a string', '"x"'],
      ['that are null', 'null'],
      ['that are a number', '1'],
      ['that are an empty batch', '[]'],
      ['without a version', '{"id":1,"method":"ping"}'],
      ['with an id of the wrong type', '{"jsonrpc":"2.0","id":{},"method":"ping"}'],
      ['with a method of the wrong type', '{"jsonrpc":"2.0","id":1,"method":{}}'],
    ])('%s return 400', async (_, body) => {
      const answer = await api.post('/mcp', body);
      expect([answer.status, answer.body.jsonrpc, typeof answer.body.error.code]).toEqual([
        400,
        '2.0',
        'number',
      ]);
    });

    it('return 413 if they are larger than 1 MiB, even if they are compressed', async () => {
      const text = callText(`{"q":"${'x'.repeat(1024 * 1024)}"}`);
      const plain = await api.post('/mcp', text);
      expect([plain.status, plain.body.code]).toEqual([413, 'payload_too_large']);
      const packed = await api.post('/mcp', gzipSync(text), { 'content-encoding': 'gzip' });
      expect([packed.status, packed.body.code]).toEqual([413, 'compressed_payload_too_large']);
    });

    it('return 415 if they are of another media type', async () => {
      const answer = await api.post('/mcp', '{}', { 'content-type': 'text/plain' });
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
    });

    it.each([
      ['resources/read', {}, 'uri: expected string, received undefined'],
      ['prompts/get', {}, 'name: expected string, received undefined'],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'use_skill' } },
        'argument: expected object',
      ],
      ['tools/call', { name: 'list_agents', arguments: [] }, 'arguments: expected record, received array'],
      ['initialize', {}, 'protocolVersion: expected string, received undefined'],
    ])('return a sentence that names the invalid parameters of %s', async (method, params, fault) => {
      const { body } = await api.post('/mcp', message(method, params));
      expect(body.error.code).toBe(-32602);
      expect(body.error.message).toContain(`Invalid params for ${method}: ${fault}`);
    });

    it('return -32602 without a tool, with an unknown tool, and with arguments that are not an object', async () => {
      for (const params of [
        undefined,
        {},
        { name: 1 },
        { name: 'unknown' },
        { name: 'x'.repeat(10_000) },
        { name: '__proto__' },
        { name: 'list_agents', arguments: [] },
        { name: 'list_agents', arguments: 'x' },
      ]) {
        const { body } = await api.post('/mcp', message('tools/call', params));
        expect([params, body.error?.code]).toEqual([params, -32602]);
        expect(body.error.message.length).toBeLessThan(1_000);
      }
    });

    it.each([
      ['control characters', 'drop\u0001\u001b[2J\u007f\u0085', 'drop[2J'],
      ['a surrogate pair at the limit', `${'x'.repeat(127)}😀`, 'x'.repeat(127)],
    ])('return the name of an unknown tool without %s', async (_, name, storable) => {
      const { body } = await api.post('/mcp', message('tools/call', { name }));
      expect(body.error).toMatchObject({ code: -32602 });
      expect(body.error.message).toContain(`Unknown tool: ${storable}. `);
    });

    it('return 400 for a tool whose name has a NUL', async () => {
      const { status, body } = await api.post('/mcp', message('tools/call', { name: 'drop\u0000' }));
      expect([status, body.error.code]).toEqual([400, -32700]);
    });

    it('return -32601 for an unknown method', async () => {
      const { body } = await api.post('/mcp', message('tables/drop'));
      expect(body.error.code).toBe(-32601);
    });

    it('return 405 for GET and DELETE, because the server is stateless', async () => {
      for (const method of ['GET', 'DELETE']) {
        const answer = await api.request(method, '/mcp', { headers: { accept: 'text/event-stream' } });
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
      }
    });

    it('return the supported revisions for an unknown revision', async () => {
      const answer = await api.post('/mcp', message('tools/list'), { 'mcp-protocol-version': '1999-01-01' });
      expect(answer.status).toBe(400);
      expect(answer.body.error.message).toContain(
        '(supported versions: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05)',
      );
    });

    it.each([
      [
        'with more than 10,000 values',
        message('tools/list', {
          _meta: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`m${i}`, 1])),
        }),
      ],
      ['nested 100,000 levels', '['.repeat(100_000) + ']'.repeat(100_000)],
    ])('%s return 400, before they are parsed', async (_, body) => {
      const answer = await api.post('/mcp', body);
      expect([answer.status, answer.body.error.code]).toEqual([400, -32600]);
      expect(answer.body.error.message).toContain('at most 10000 values');
    });

    it('are rejected in a batch with the same id twice, because one would get no response', async () => {
      const answer = await api.post('/mcp', [message('ping', undefined, 1), message('ping', undefined, 1)]);
      expect([answer.status, answer.body.error.code]).toEqual([400, -32600]);
    });

    it('are rejected in a batch of a revision without batches', async () => {
      for (const revision of ['2025-06-18', '2025-11-25']) {
        const answer = await api.post('/mcp', [message('ping')], { 'mcp-protocol-version': revision });
        expect([answer.status, answer.body.error.code]).toEqual([400, -32600]);
      }
    });

    it('return an error that does not repeat a long URI', async () => {
      const answer = await api.post(
        '/mcp',
        message('resources/read', { uri: `skill://${'x'.repeat(900_000)}` }),
      );
      expect(answer.body.error.code).toBe(-32602);
      expect(JSON.stringify(answer.body).length).toBeLessThan(10_000);
    });

    it('return an error that does not repeat many long arguments', async () => {
      const args = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${i}${'x'.repeat(20_000)}`, 1]));
      const params = { name: 'list_agents', arguments: { ...args, workspace_id: has.org.workspaceId } };
      const answer = await api.post('/mcp', message('tools/call', params));
      expect(answer.body.result.isError).toBe(true);
      expect(JSON.stringify(answer.body).length).toBeLessThan(40_000);
    });

    it('count separately towards the rate limit in a batch', async () => {
      const limited = await app.another({ RATE_LIMIT_PROXY: '5', RATE_LIMIT_TIMEOUT_MS: '60000' });
      try {
        const member = limited.api(await has.org.token('viewer'));
        const batch = (count: number) =>
          Array.from({ length: count }, (_, id) => message('ping', undefined, id));
        expect((await member.post('/mcp', batch(3))).status).toBe(200);
        expect((await member.post('/mcp', batch(3))).status).toBe(429);
      } finally {
        await limited.close();
      }
    });

    it('are rejected in a batch of more than 20', async () => {
      const batch = (count: number) =>
        Array.from({ length: count }, (_, id) => message('ping', undefined, id));
      expect((await api.post('/mcp', batch(20))).body).toHaveLength(20);
      const answer = await api.post('/mcp', batch(21));
      expect([answer.status, answer.body.error.code]).toEqual([400, -32600]);
    });

    it('have no effect if they cancel an earlier message of the same batch', async () => {
      const args = { name: 'list_agents', arguments: { workspace_id: has.org.workspaceId } };
      const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
      const answer = await api.post('/mcp', [message('tools/call', args, 7), cancel]);
      expect([answer.status, answer.body.id]).toEqual([200, 7]);
    });
  });
});
