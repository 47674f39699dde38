import { sharedApp, newOrganization } from '#testing';
import { CLIENT_MODES, connect, type TestMcpClient } from './clients.fixture';
import { INSTRUCTIONS, populate, type Population } from './population.fixture';

/** Prompts that people choose in their client. */
describe('the prompts of the MCP endpoint', () => {
  const app = sharedApp();
  let has: Population;
  let client: TestMcpClient;

  beforeAll(async () => {
    has = await populate(app);
    client = await connect(app.url, await has.org.token('runtime'));
  });
  afterAll(async () => {
    await client.close();
  });

  const textOf = async (name: string, args: Record<string, string>): Promise<string> => {
    const { messages } = await client.getPrompt({ name, arguments: args });
    expect(messages).toHaveLength(1);
    return messages[0].content.text;
  };

  it.each(CLIENT_MODES)('are listed with their arguments (client %s)', async (mode) => {
    const modeClient = await connect(app.url, await has.org.token('viewer'), mode);
    const { prompts } = await modeClient.listPrompts({});
    expect(prompts.map(({ name, arguments: args }: any) => [name, args.map((one: any) => one.name)])).toEqual(
      [
        ['use_skill', ['skill', 'task']],
        ['act_as_agent', ['agent', 'task']],
      ],
    );
    await modeClient.close();
  });

  it('return the instructions of a skill, by its name or its id', async () => {
    const byName = await textOf('use_skill', { skill: 'pdf-forms', task: 'Fill form 7.' });
    expect(byName).toContain(INSTRUCTIONS);
    expect(byName).toContain('The skill has 3 files.');
    expect(byName.endsWith('The task:\n\nFill form 7.')).toBe(true);
    expect(await textOf('use_skill', { skill: has.skillId })).toContain(INSTRUCTIONS);
  });

  it('return the instructions of an agent with its skills and tools', async () => {
    const text = await textOf('act_as_agent', { agent: 'clerk' });
    expect(text).toContain('You are a clerk.');
    expect(text).toContain(`- ${has.skillId}`);
    expect(text).toContain(`- forecast of ${has.serverId}`);
  });

  it.each([
    ['use_skill', { skill: 'missing' }],
    ['use_skill', { skill: 'skl_x' }],
    ['use_skill', {}],
    ['use_skill', { skill: 'pdf-forms', tsk: 'lost' }],
    ['use_skill', { skill: 'x'.repeat(1000) }],
    ['other', { skill: 'pdf-forms' }],
  ])('reject %s with %p', async (name, args) => {
    await expect(client.getPrompt({ name, arguments: args as any })).rejects.toMatchObject({ code: -32602 });
  });

  describe('that are out of reach', () => {
    /** Requests and completes prompts for the resources of the workspace. Returns the outcomes. */
    const outcomesOf = async (token: string, headers: Record<string, string>): Promise<unknown[]> => {
      const caller = await connect(app.url, token, 'auto', headers);
      const outcomes: unknown[] = [];
      for (const [name, argument, values] of [
        ['use_skill', 'skill', ['pdf-forms', has.skillId]],
        ['act_as_agent', 'agent', ['clerk', has.agentId]],
      ] as const) {
        for (const value of values) {
          const got = caller.getPrompt({ name, arguments: { [argument]: value } });
          outcomes.push(
            await got.then(
              () => 'returned',
              (error: unknown) => (error as { code: number }).code,
            ),
          );
        }
        const ref = { type: 'ref/prompt', name };
        const { completion } = await caller.complete({ ref, argument: { name: argument, value: '' } });
        outcomes.push(completion.values);
      }
      await caller.close();
      return outcomes;
    };
    const NOTHING = [-32602, -32602, [], -32602, -32602, []];
    const ALL = ['returned', 'returned', ['pdf-forms'], 'returned', 'returned', ['clerk']];

    it('are neither returned nor completed for another organization', async () => {
      const stranger = await newOrganization(app);
      expect(await outcomesOf(await stranger.token('owner'), {})).toEqual(NOTHING);
    });

    it('are neither returned nor completed outside the workspaces of the header and of the caller', async () => {
      const otherWorkspace = await has.org.newWorkspace();
      const owner = await has.org.token('owner');
      expect(await outcomesOf(owner, { 'x-service-workspace-id': has.org.workspaceId })).toEqual(ALL);
      expect(await outcomesOf(owner, { 'x-service-workspace-id': otherWorkspace })).toEqual(NOTHING);
      const limited = await has.org.tokenOf('usr_other', {
        roles: ['viewer'],
        workspace_ids: [otherWorkspace],
      });
      expect(await outcomesOf(limited, {})).toEqual(NOTHING);
    });
  });

  it('complete names', async () => {
    const complete = async (name: string, argument: string, value: string) =>
      (await client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } }))
        .completion;
    expect(await complete('use_skill', 'skill', 'pd')).toEqual({
      values: ['pdf-forms'],
      hasMore: false,
      total: 1,
    });
    expect((await complete('use_skill', 'skill', '')).values).toEqual(['pdf-forms']);
    expect((await complete('act_as_agent', 'agent', 'cl')).values).toEqual(['clerk']);
    expect((await complete('act_as_agent', 'agent', 'zzz')).values).toEqual([]);
    expect((await complete('use_skill', 'task', 'x')).values).toEqual([]);
    const template = { type: 'ref/resource', uri: 'registry://files/{file_id}' };
    const ofTemplate = await client.complete({ ref: template, argument: { name: 'file_id', value: 'x' } });
    expect(ofTemplate.completion.values).toEqual([]);
  });

  it('complete ids if several workspaces have a resource with the name', async () => {
    const otherWorkspace = await has.org.newWorkspace();
    const body = { workspace_id: otherWorkspace, name: 'pdf-forms', description: 'x', instructions: 'x' };
    const made = await (await has.org.as('owner')).post('/skill/v1/skills', body);
    const owner = await connect(app.url, await has.org.token('owner'));
    const ref = { type: 'ref/prompt', name: 'use_skill' };
    const { completion } = await owner.complete({ ref, argument: { name: 'skill', value: 'pdf' } });
    expect(completion).toEqual({ values: expect.any(Array), hasMore: false, total: 2 });
    expect(completion.values.sort()).toEqual([has.skillId, made.body.skill_id].sort());
    await owner.close();
  });
});
