import { sharedApp, newOrganization } from '#testing';
import { populate, type Population, ToolsFixture } from './population.fixture';

const PAGE = 64 * 1024;

/** The limits of a result, and how to continue. */
describe('a result of the MCP endpoint', () => {
  const app = sharedApp();
  let has: Population;
  let on: ToolsFixture;

  beforeAll(async () => {
    has = await populate(app);
    on = await ToolsFixture.create(app, has.org, 'admin');
    await on.client.listTools();
  });
  afterAll(async () => {
    await on.client.close();
  });

  /** Reads a text to its end, like a model. */
  const readAll = async (
    tool: string,
    args: object,
    member: string,
  ): Promise<{ text: string; parts: number }> => {
    let text = '';
    let parts = 0;
    for (let offset: number | null = 0; offset !== null; parts++) {
      const page: any = await on.result(tool, { ...args, offset });
      expect(Buffer.byteLength(page[member] as string)).toBeLessThanOrEqual(PAGE);
      text += page[member];
      offset = page.next_offset;
    }
    return { text, parts };
  };

  const upload = async (name: string, content: string | Uint8Array, type: string): Promise<string> => {
    const editor = await has.org.as('editor');
    const path = `/file/v1/files?workspace_id=${has.org.workspaceId}&name=${name}`;
    return (await editor.post(path, content, { 'content-type': type })).body.file_id;
  };

  it('has at most 20 items of a list by default, and 50 on request', async () => {
    const org = await newOrganization(app);
    const editor = await org.as('editor');
    for (let i = 0; i < 55; i++) {
      await editor.post('/agent/v1/agents', { workspace_id: org.workspaceId, name: `a${i}` });
    }
    const reader = await ToolsFixture.create(app, org, 'viewer');
    const names: string[] = [];
    let cursor: string | null = null;
    const sizes: number[] = [];
    do {
      const page: any = await reader.result('list_agents', cursor === null ? {} : { cursor });
      sizes.push(page.items.length as number);
      names.push(...page.items.map(({ name }: any) => name));
      cursor = page.next_cursor;
    } while (cursor !== null);
    expect([sizes, new Set(names).size]).toEqual([[20, 20, 15], 55]);
    expect((await reader.result('list_agents', { limit: 50 })).items).toHaveLength(50);
    await reader.client.close();
  });

  it('has at most 100 items of each list within a resource, and the rest on request', async () => {
    const editor = await has.org.as('editor');
    const inWorkspace = { workspace_id: has.org.workspaceId };
    const padded = (i: number) => String(i).padStart(3, '0');
    const numbers = Array.from({ length: 150 }, (_, i) => i);
    const tools = numbers.map((i) => ({ name: `tool_${padded(i)}`, input_schema: { type: 'object' } }));
    const server = { ...inWorkspace, name: 'many', url: 'https://many.example.com/mcp', tools };
    const { server_id } = (await editor.post('/mcp/v1/servers', server)).body;
    const agent = await editor.post('/agent/v1/agents', {
      ...inWorkspace,
      name: 'able',
      tools: tools.map(({ name }) => ({ server_id, tool_name: name })),
    });
    const files = numbers.map((i) => ({ path: `f${padded(i)}.md`, content: 'x', encoding: 'utf-8' }));
    const skill = await editor.post('/skill/v1/skills', {
      ...inWorkspace,
      name: 'rich',
      description: 'x',
      instructions: 'x',
      files,
    });
    const made = await editor.post('/eval/v1/experiments', { ...inWorkspace, name: 'scored' });
    const path = `/eval/v1/experiments/${made.body.experiment_id}`;
    const items = [numbers.slice(0, 75), numbers.slice(75)].map((some) => ({
      case_id: `c${some[0]}`,
      scores: Object.fromEntries(some.map((i) => [`s${padded(i)}`, 1])),
    }));
    await editor.post(`${path}/results/bulk`, { ...inWorkspace, items });
    await editor.patch(path, { experiment_status: 'completed' });
    for (const [tool, args, member, count] of [
      ['get_agent', { agent_id: agent.body.agent_id }, 'tools', 150],
      ['get_skill', { skill_id: skill.body.skill_id }, 'files', 151],
      ['get_experiment', { experiment_id: made.body.experiment_id }, 'scores', 150],
    ] as const) {
      const first = await on.result(tool, args);
      expect([tool, first.next_list_offset]).toEqual([tool, 100]);
      const second = await on.result(tool, { ...args, list_offset: first.next_list_offset });
      expect([tool, first[member].length, second[member].length, second.next_list_offset]).toEqual([
        tool,
        100,
        count - 100,
        null,
      ]);
      const all = [...first[member], ...second[member]].map((one: unknown) => JSON.stringify(one));
      expect(new Set(all).size).toBe(count);
    }
  });

  it('shortens descriptions in a list, but not the description of a single resource', async () => {
    const org = await newOrganization(app);
    const description = 'word '.repeat(200).trim();
    const { body } = await (
      await org.as('editor')
    ).post('/agent/v1/agents', {
      workspace_id: org.workspaceId,
      name: 'long',
      description,
    });
    const reader = await ToolsFixture.create(app, org, 'viewer');
    expect((await reader.result('list_agents')).items[0].description).toHaveLength(300);
    expect((await reader.result('get_agent', { agent_id: body.agent_id })).description).toBe(description);
    await reader.client.close();
  });

  it('shortens descriptions in search results', async () => {
    const editor = await has.org.as('editor');
    const description = 'zymurgy '.repeat(100).trim();
    await editor.post('/agent/v1/agents', { workspace_id: has.org.workspaceId, name: 'brewer', description });
    const { items } = await on.result('search_registry', { query: 'zymurgy' });
    expect(items[0]).toMatchObject({ name: 'brewer', description: expect.any(String) });
    expect(items[0].description.length).toBeLessThanOrEqual(300);
  });

  it('has a path instead of the schema of a tool that is larger than 64 KiB', async () => {
    const editor = await has.org.as('editor');
    const input_schema = { type: 'object', description: 'x'.repeat(PAGE) };
    const description = 'word '.repeat(200).trim();
    const { body } = await editor.post('/mcp/v1/servers', {
      workspace_id: has.org.workspaceId,
      name: 'wordy',
      url: 'https://wordy.example.com/mcp',
      tools: [{ name: 'wordy', description, input_schema }],
    });
    const { items } = await on.result('list_mcp_tools', { server_id: body.server_id });
    const tool = await on.result('get_mcp_tool', { tool_id: items[0].tool_id });
    expect(tool).toMatchObject({ input_schema: null, annotations: null, is_truncated: true });
    expect(tool.description).toHaveLength(300);
    expect((await editor.get(tool.content_url)).body.input_schema).toEqual(input_schema);
  });

  it.each([
    ['of one byte', 'a'],
    ['of two bytes', 'é'],
    ['of three bytes', '€'],
    ['of four bytes', '😀'],
  ])('has at most 64 KiB of a file, and splits no character %s', async (name, character) => {
    const content = `x${character.repeat(150_000 / Buffer.byteLength(character))}y`;
    const id = await upload(`${encodeURIComponent(name)}.txt`, content, 'text/plain');
    const { text, parts } = await readAll('read_file', { file_id: id }, 'text');
    expect([text === content, parts]).toEqual([true, 3]);
  });

  it('begins with the next character if the offset splits one', async () => {
    const id = await upload('split.txt', '€€', 'text/plain');
    const { text, next_offset } = await on.result('read_file', { file_id: id, offset: 1 });
    expect([text, next_offset]).toEqual(['€', null]);
  });

  it('is empty beyond the end', async () => {
    const { text, next_offset } = await on.result('read_file', { file_id: has.fileId, offset: 2 ** 40 });
    expect([text, next_offset]).toEqual(['', null]);
  });

  it('has a download path instead of the text of a binary file', async () => {
    const id = await upload('image.png', new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1]), 'image/png');
    expect(await on.result('read_file', { file_id: id })).toMatchObject({
      text: null,
      next_offset: null,
      content_url: `/file/v1/files/${id}/versions/1/content`,
    });
  });

  it('has at most 64 KiB of the instructions of an agent or a skill, and of a file of a skill', async () => {
    const editor = await has.org.as('editor');
    const instructions = 'é'.repeat(70_000);
    const workspace_id = has.org.workspaceId;
    const agent = await editor.post('/agent/v1/agents', { workspace_id, name: 'wordy', instructions });
    const skill = await editor.post('/skill/v1/skills', {
      workspace_id,
      name: 'wordy',
      description: 'x',
      instructions,
      files: [{ path: 'notes.md', content: instructions, encoding: 'utf-8' }],
    });
    const { skill_id } = skill.body;
    const expectWhole = (text: string) => expect(text === instructions).toBe(true);
    expectWhole((await readAll('get_agent', { agent_id: agent.body.agent_id }, 'instructions')).text);
    expectWhole((await readAll('get_skill', { skill_id }, 'instructions')).text);
    expectWhole((await readAll('read_skill_file', { skill_id, path: 'notes.md' }, 'text')).text);
  });

  it('has an earlier version of a skill or a file on request', async () => {
    const editor = await has.org.as('editor');
    const made = await editor.post('/skill/v1/skills', {
      workspace_id: has.org.workspaceId,
      name: 'changing',
      description: 'x',
      instructions: 'first',
    });
    const { skill_id } = made.body;
    await editor.patch(`/skill/v1/skills/${skill_id}`, { instructions: 'second' });
    const instructionsOf = async (args: object) =>
      (await on.result('get_skill', { skill_id, ...args })).instructions;
    await editor.put(`/skill/v1/skills/${skill_id}/labels/stable`, { version_ordinal: 1 });
    const versions = [1, 2, 'stable', 'latest'].map((version_ordinal) => ({ version_ordinal }));
    const read = [];
    for (const args of [{}, ...versions]) read.push(await instructionsOf(args));
    expect(read).toEqual(['second', 'first', 'second', 'first', 'second']);
    expect((await on.problem('get_skill', { skill_id, version_ordinal: 3 })).code).toBe('not_found');
  });
});
