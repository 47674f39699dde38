import { type ApiClient, newOrganization, sharedApp, type TestOrganization } from '#testing';
import { registerSkill } from './parts.fixture';

const AGENTS = '/agent/v1/agents';
const ADDRESS = { url: 'https://a.example.com/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' };

describe('the A2A card of an agent', () => {
  const app = sharedApp();
  let org: TestOrganization;
  let editor: ApiClient;

  beforeAll(async () => {
    org = await newOrganization(app);
    editor = await org.member('editor');
  });

  let made = 0;
  const create = (body: object) =>
    editor.post(AGENTS, { workspace_id: org.workspaceId, name: `carded-${(made += 1)}`, ...body });
  const cardOf = async (body: object = {}): Promise<any> => {
    const agent = await create(body);
    expect(agent.status).toBe(201);
    const card = await editor.get(`${AGENTS}/${agent.body.agent_id}/card`);
    expect(card.status).toBe(200);
    return card.body;
  };

  it('has every required member, and no empty list, for an agent that has only a name', async () => {
    const card = await cardOf({ name: 'bare' });
    expect(card).toEqual({
      name: 'bare',
      description: '',
      version: '1',
      supportedInterfaces: [
        {
          url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/agent\/v1\/agents\/agt_\w{26}\/sessions$/),
          protocolBinding: 'urn:agent-registry:sessions',
          protocolVersion: '1.0',
        },
      ],
      capabilities: {},
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'bare', name: 'bare', description: '', tags: ['agent'] }],
    });
  });

  it('shows the pinned versions of skills, also of archived ones, and omits deleted ones', async () => {
    const admin = await org.member('admin');
    const [kept, deleted] = [
      await registerSkill(editor, org.workspaceId),
      await registerSkill(editor, org.workspaceId),
    ];
    const pinned = { skill_id: kept, version_ordinal: 1 };
    const agent = await create({ display_name: 'Planner', skills: [pinned, { skill_id: deleted }] });
    await editor.patch(`/skill/v1/skills/${kept}`, { description: 'Changed later.' });
    for (const id of [kept, deleted]) await admin.post(`/skill/v1/skills/${id}/archive`);
    expect((await admin.delete(`/skill/v1/skills/${deleted}?force=true`)).status).toBe(204);
    const { body: card } = await editor.get(`${AGENTS}/${agent.body.agent_id}/card`);
    expect(card).toMatchObject({
      name: 'Planner',
      skills: [{ id: kept, description: 'Does what skills do.', tags: ['skill'] }],
    });
  });

  it('has the members that the agent sets, which a PATCH merges and versions', async () => {
    const skill = { id: 'plan', name: 'Plan', description: 'Plans trips.', tags: ['travel'] };
    const agent = await create({ card: { supportedInterfaces: [ADDRESS], skills: [skill] } });
    const path = `${AGENTS}/${agent.body.agent_id}`;
    const patched = await editor.patch(path, {
      card: { capabilities: { streaming: true }, skills: null, iconUrl: 'https://a.example.com/i.png' },
    });
    const card = {
      supportedInterfaces: [ADDRESS],
      capabilities: { streaming: true },
      iconUrl: 'https://a.example.com/i.png',
    };
    expect(patched.body).toMatchObject({ version_ordinal: 2, card });
    expect((await editor.get(`${path}/card`)).body).toMatchObject({ version: '2', ...card });
    const { body: first } = await editor.get(`${path}/versions/1`);
    expect(first.card).toEqual({ supportedInterfaces: [ADDRESS], skills: [skill] });
    expect((await editor.patch(path, { card: null })).body.card).toEqual({});
  });

  it("can name the agent's own address without knowing the URL of the service", async () => {
    const { body } = await create({ card: { supportedInterfaces: [ADDRESS] } });
    const bare = await create({});
    const headers = { host: 'registry.example.com' };
    const get = async (id: string) => (await editor.get(`${AGENTS}/${id}/card`, headers)).status;
    expect([await get(body.agent_id), await get(bare.body.agent_id)]).toEqual([200, 404]);
  });

  it.each([
    [{ supportedInterfaces: [] }, '/card/supportedInterfaces'],
    [{ supportedInterfaces: [{ ...ADDRESS, url: 7 }] }, '/card/supportedInterfaces/0/url'],
    [
      { supportedInterfaces: [{ ...ADDRESS, protocolVersion: 'v1' }] },
      '/card/supportedInterfaces/0/protocolVersion',
    ],
    [{ name: 'other' }, '/card/name'],
    [{ capabilities: { streaming: 'yes' } }, '/card/capabilities/streaming'],
    [{ defaultInputModes: 'text/plain' }, '/card/defaultInputModes'],
    [{ skills: [{ id: 'x' }] }, '/card/skills/0/tags'],
    [{ provider: { organization: 'x', url: 'x'.repeat(20_000) } }, '/card'],
    ['card', '/card'],
  ])('rejects %j', async (card, pointer) => {
    const { body: agent } = await create({});
    for (const answer of [
      await create({ card }),
      await editor.patch(`${AGENTS}/${agent.agent_id}`, { card }),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
      expect(answer.body.errors.map((error: { pointer: string }) => error.pointer)).toContain(pointer);
    }
  });
});
