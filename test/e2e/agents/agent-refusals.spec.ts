import { type Answer, type ApiClient, sharedApp, newOrganization } from '#testing';

describe('agents', () => {
  const app = sharedApp();
  let editor: ApiClient;
  let workspace_id: string;

  beforeAll(async () => {
    const org = await newOrganization(app);
    workspace_id = org.workspaceId;
    editor = await org.member('editor');
  });

  const create = (
    body: Record<string, unknown>,
  ): Promise<Answer<{ errors?: { pointer: string; detail: string }[] }>> =>
    editor.post('/agent/v1/agents', { workspace_id, name: 'refused', ...body });

  it.each<[string, Record<string, unknown>, string]>([
    ['no name', { name: '' }, '/name'],
    ['a name of two lines', { name: 'a\nb' }, '/name'],
    ['no workspace', { workspace_id: undefined }, '/workspace_id'],
    ['no steps', { max_step_count: 0 }, '/max_step_count'],
    ['half a step', { max_step_count: 1.5 }, '/max_step_count'],
    ['a duplicate tool', { tools: Array(2).fill({ server_id: 's', tool_name: 't' }) }, '/tools'],
    ['a duplicate skill', { skills: [{ skill_id: 's' }, { skill_id: 's', version_ordinal: 2 }] }, '/skills'],
    ['a tool that is null', { tools: [null] }, '/tools/0'],
    [
      'a version that is a string',
      { skills: [{ skill_id: 's', version_ordinal: '1' }] },
      '/skills/0/version_ordinal',
    ],
    ['too many tools', { tools: Array(501).fill({ server_id: 's', tool_name: 't' }) }, '/tools'],
    ['permissions that are not strings', { required_permissions: [1] }, '/required_permissions'],
    [
      'a duplicate permission next to a value without a string form',
      { required_permissions: [{ toString: null }, 'a', 'a'] },
      '/required_permissions',
    ],
    ['too much metadata', { metadata: { a: 'x'.repeat(17_000) } }, '/metadata'],
    ['instructions that are too long', { instructions: 'x'.repeat(1_000_001) }, '/instructions'],
  ])('return 400 for %s', async (_, members, pointer) => {
    const answer = await create(members);
    expect([answer.status, answer.body.errors?.map((one) => one.pointer)]).toEqual([
      400,
      expect.arrayContaining([pointer]),
    ]);
  });

  it('return 400 with pointers to duplicates and to members that are not lists', async () => {
    const tool = (tool_name: string) => ({ server_id: 's', tool_name });
    const answers = [
      await create({ tools: [tool('a'), tool('b'), tool('b')] }),
      await create({ required_permissions: ['a', 'a'] }),
      await create({ tools: {} }),
    ];
    expect(answers.map(({ body }) => body.errors)).toEqual([
      [{ pointer: '/tools', detail: 'must not contain duplicates: /1 and /2 are the same' }],
      [{ pointer: '/required_permissions', detail: 'must not contain duplicates: /0 and /1 are the same' }],
      [{ pointer: '/tools', detail: 'must be an array' }],
    ]);
  });
});
